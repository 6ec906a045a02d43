"""The slots on Ray: attach to existing ones, create missing ones, exchange messages; scheduler.

Slots, or the relays of their nodes, are detached named actors in the namespace of the service, so a restarted scheduler
finds them. Ray never restarts an actor or retries a call: retries are the scheduler's decision.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import ActorUnavailableError, RayError

from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, SlotEvents, SlotLeaving, SlotLost, SlotOpened
from podium.sweep.lifecycle.slot_demand import SlotDemand
from podium.sweep.protocol.scheduler_slot_messages import SlotDescription, decode_events, encode_commands
from podium.sweep.protocol.slot_commands import SlotCommand
from podium.sweep.protocol.slot_process_messages import ExchangeCall, OpenCall
from podium.sweep.ray_cluster.daemon_timer import call_later
from podium.sweep.ray_cluster.device_source import DeviceSource
from podium.sweep.ray_cluster.fenced_slot_kill import FencedSlotKill
from podium.sweep.ray_cluster.ray_connection_settings import KEEP_S
from podium.sweep.ray_cluster.ray_error_causes import first_line
from podium.sweep.ray_cluster.ray_nodes_with_slots import ClusterNode
from podium.sweep.ray_cluster.ray_slot_actor import SlotPlace
from podium.sweep.ray_cluster.slot_actors import SlotActor
from podium.sweep.values.device import Device, is_remote
from podium.sweep.values.errors import FencedError, PodiumError
from podium.sweep.values.failure_causes import Cause

log = logging.getLogger("podium.slots")


@dataclass(frozen=True, slots=True)
class SlotTimings:
    """Waits and time limits of `RaySlots`, in seconds."""

    attach_s: float = 10.0  # to find out which slots of an earlier scheduler still respond, all together
    reopen_s: float = 2.0  # between the loss of a slot and the creation of a new one
    unavailable_s: float = 3.0  # a slot that cannot be reached for longer is lost
    resend_s: float = 0.25  # between two tries of a call that cannot reach its slot
    nodes_s: float = 1.0  # between two lists of the nodes of the cluster
    node_check_s: float = 0.5  # between the death of a slot on another node and the look at its node
    remote_poll_s: float = 2.0  # between two answers of a slot on another node
    abandoned_s: float = KEEP_S  # without a call, after which a slot on another node ends its attempt
    close_s: float = 2.0  # to wait for the thread that follows the nodes


@dataclass(slots=True)
class _Call:
    """One call of `Slot.exchange`, kept until it is answered: it is sent again while the slot cannot be reached."""

    number: int
    acknowledged: int
    commands: bytes
    unavailable_since_s: float | None = None  # monotonic


@dataclass(slots=True, eq=False)
class _Session:
    """A slot as this scheduler has opened it. Its loss ends the session once; late results of it are ignored."""

    device_id: str
    actor: SlotActor
    actor_name: str
    number: int  # the slot's
    calls: int = 0  # the number of the newest call
    leaving: bool = False  # whether it was reported that it gets no more trials


class RaySlots:
    """See `podium.sweep.lifecycle.scheduler_interfaces.SlotPool`."""

    def __init__(
        self,
        inbox: Inbox,
        devices: DeviceSource,
        *,
        epoch: int,
        confirm: Callable[[], None],
        timings: SlotTimings = SlotTimings(),
    ) -> None:
        """The slots of one scheduler.

        Args:
            inbox: Of the scheduler.
            devices: Those that get slots.
            epoch: Of this scheduler; a slot refuses a scheduler with a lower epoch than that of an earlier one.
            confirm: Called in any thread before a slot is killed: Ray would also kill it for a scheduler that was
                replaced. Raises `FencedError` then, and `DatabaseError` if that is unknown.
            timings: Waits and time limits.
        """
        self._inbox = inbox
        self._devices = devices
        self._nodes = devices.nodes()
        self._epoch = epoch
        self._timings = timings
        self._places: dict[str, SlotPlace] = {}  # by actor name
        self._sessions: dict[str, _Session] = {}  # by device
        self._lock = threading.Lock()  # of the end of a session
        self._closing = threading.Event()
        self._kills = FencedSlotKill(confirm, epoch=epoch, retry_s=timings.reopen_s, closing=self._closing)
        self._follower: threading.Thread | None = None

    @property
    def count(self) -> int:
        """The intended number of slots on the head."""
        return self._devices.count_here

    def attach(self) -> list[SlotOpened]:
        """The slots of an earlier scheduler that still respond; the others are killed.

        Raises `FencedError` if a later scheduler has already opened one of them, and `DatabaseError`.
        """
        until_s = time.monotonic() + self._timings.attach_s
        actors = self._devices.actors.known(self._timings.attach_s / 2)
        found: list[SlotOpened] = []
        while actors:
            opening = {name: self._open(name, actor) for name, actor in actors.items()}
            ray.wait(list(opening.values()), num_returns=len(opening), timeout=max(0.0, until_s - time.monotonic()))
            unavailable: dict[str, SlotActor] = {}
            for name, reference in opening.items():
                try:
                    result = actors[name].read(ray.get(reference, timeout=0))
                    if (reason := self._devices.adopt(name, SlotDescription.from_json(result))) == "":
                        found.append(self._opened(name, actors[name], result))
                    else:
                        self._replace(name, actors[name], reason)
                except FencedError:
                    raise
                except ActorUnavailableError as error:
                    if time.monotonic() >= until_s:
                        self._replace(name, actors[name], first_line(error))
                    unavailable[name] = actors[name]
                except (RayError, PodiumError) as error:
                    self._replace(name, actors[name], first_line(error))
            if time.monotonic() >= until_s:
                break
            actors = unavailable
            if actors:
                time.sleep(self._timings.resend_s)
        return found

    def open_missing(self) -> None:
        """Create the slots that `attach` did not find; each puts `SlotOpened` into the inbox when it is ready.

        From now on, the devices of a node that joins get slots, and those of a node that has left are lost.
        """
        self._update_nodes(self._nodes)
        self._follower = threading.Thread(target=self._follow_nodes, name="nodes", daemon=True)
        self._follower.start()

    def send(self, device_id: str, acknowledged: int, commands: Sequence[SlotCommand]) -> None:
        """One call of `Slot.exchange`; its result, or the loss of the slot, goes to the inbox."""
        session = self._sessions.get(device_id)
        if session is None:
            return  # its loss is already in the inbox, or will be in a moment
        session.calls += 1
        self._send(session, _Call(session.calls, acknowledged, encode_commands(commands)))

    def kill(self, device_id: str) -> None:
        """Kill a slot that is unresponsive, or does not end its attempt; a new one is created."""
        session = self._sessions.get(device_id)
        if session is None:
            return
        self._kill_later(session)
        if is_remote(device_id) and self._end(session):
            # Ray reports the death of an actor on an unreachable node only when it declares the node dead.
            self._lose(session, TimeoutError("its node does not answer"), Cause.NODE_LOST)

    def request(self, demand: SlotDemand) -> None:
        """Set how many slots the sweeps need."""
        self._devices.request(demand)

    def release(self, device_id: str) -> None:
        """Close a slot that runs no trial, and give its device back."""
        session = self._sessions.get(device_id)
        if session is None or not self._end(session):
            return
        place = self._places.get(session.actor_name)
        if place is not None:
            self._devices.lose(place)
        self._kill_later(session)

    def close(self) -> None:
        """Ignore all further results."""
        self._closing.set()
        if self._follower is not None:
            self._follower.join(timeout=self._timings.close_s)
        self._devices.close(self._open_names())

    # Calls. Callbacks of Ray must not call Ray: they run in its thread.

    def _send(self, session: _Session, call: _Call) -> None:
        if self._closing.is_set() or self._sessions.get(session.device_id) is not session:
            return
        reference = session.actor.exchange(ExchangeCall(session.number, call.number, call.acknowledged, call.commands))
        reference.future().add_done_callback(lambda future: self._on_result(session, call, future))

    def _on_result(self, session: _Session, call: _Call, future: Future[bytes]) -> None:
        if self._closing.is_set() or self._sessions.get(session.device_id) is not session:
            return
        try:
            events = decode_events(session.actor.read(future.result()))
        except ActorUnavailableError as error:
            self._on_unavailable(session, call, error)
            return
        except Exception as error:  # noqa: BLE001 - RayActorError and its many relatives
            if self._end(session):
                self._on_died(session, error)
            return
        if events is not None and call.number == session.calls:  # a newer call returns the same events
            self._inbox.put(SlotEvents(session.device_id, events))

    def _on_unavailable(self, session: _Session, call: _Call, error: Exception) -> None:
        """The slot could not be reached, which is not its death: whether the call arrived is unknown.

        It is sent again, also if a newer call waits, because the slot executes calls in their order.
        """
        now_s = time.monotonic()
        if call.unavailable_since_s is None:
            call.unavailable_since_s = now_s
        if now_s - call.unavailable_since_s < self._timings.unavailable_s or call.number != session.calls:
            call_later(self._timings.resend_s, lambda: self._send_again(session, call, error))
        elif self._end(session):
            self._kill_later(session)  # frees the name, also if the node of the slot cannot be reached
            self._lose(session, error, Cause.NODE_LOST if is_remote(session.device_id) else _cause(session, error))

    def _send_again(self, session: _Session, call: _Call, error: Exception) -> None:
        node = self._node_of(session)
        if node is not None and node.name and node.refuses_connections():
            if self._end(session):
                self._kill_later(session)
                self._lose(session, error, Cause.NODE_LOST)
            return
        self._send(session, call)

    def _node_of(self, session: _Session) -> ClusterNode | None:
        place = self._places.get(session.actor_name)
        return None if place is None else self._nodes.get(place.node_id)

    def _on_died(self, session: _Session, error: Exception) -> None:
        """A slot has died, alone or with its node, which for a node that was killed only its raylet tells in time."""
        if not is_remote(session.device_id):
            self._lose(session, error, _cause(session, error))
            return
        node = self._node_of(session)

        def report() -> None:
            gone = node is None or not node.is_reachable()
            self._lose(session, error, Cause.NODE_LOST if gone else _cause(session, error))

        call_later(self._timings.node_check_s, report)  # a node that ends may end the slot first

    def _end(self, session: _Session) -> bool:
        """End a session; whether it had not been ended before."""
        with self._lock:
            if self._sessions.get(session.device_id) is not session:
                return False
            del self._sessions[session.device_id]
            return True

    def _lose(self, session: _Session, error: Exception, cause: Cause) -> None:
        """Report the loss of a slot whose session has been ended, and open a new one."""
        self._inbox.put(SlotLost(session.device_id, f"worker lost: {first_line(error)}", cause))
        place = self._places.get(session.actor_name)
        if place is not None:
            self._reopen(place)

    # Nodes.

    def _follow_nodes(self) -> None:
        while not self._closing.wait(self._devices.wait_s(self._timings.nodes_s)):
            try:
                self._update_nodes(self._devices.nodes(self._nodes))
                self._report_leaving()
            except FencedError as error:
                log.error("the nodes are no longer followed: %s", error)  # the next commit ends this scheduler
                return
            except Exception as error:  # noqa: BLE001 - whatever the error of Ray, nodes may join later
                log.warning("cannot follow the nodes of the cluster, trying again: %s", first_line(error))

    def _update_nodes(self, nodes: dict[str, ClusterNode]) -> None:
        """Create the slots that are missing on these nodes, and report those of other nodes as lost."""
        places = {place.actor_name: place for place in self._devices.places(nodes, self._open_names())}
        gone = [place for name, place in self._places.items() if places.get(name) != place]
        new = [place for name, place in places.items() if self._places.get(name) != place]
        self._nodes, self._places = nodes, places
        for place in gone:
            self._on_node_gone(place)
        attached = self._open_names()
        for place in new:
            if place.actor_name not in attached:
                self._recreate(place)

    def _open_names(self) -> set[str]:
        """The actors of the slots that work."""
        return {session.actor_name for session in list(self._sessions.values())}

    def _report_leaving(self) -> None:
        for session in list(self._sessions.values()):
            place = self._places.get(session.actor_name)
            if place is not None and not session.leaving and (reason := self._devices.leaving(place)):
                session.leaving = True
                self._inbox.put(SlotLeaving(session.device_id, reason))

    def _on_node_gone(self, place: SlotPlace) -> None:
        self._kills.kill_later(place.actor_name, lambda: self._devices.actors.find(place))  # Ray may keep it alive
        for session in list(self._sessions.values()):
            if session.actor_name == place.actor_name and self._end(session):
                self._inbox.put(SlotLost(session.device_id, f"node {place.node_name} has left", Cause.NODE_LOST))

    # Opening.

    def _create(self, place: SlotPlace) -> None:
        actor = self._devices.create(place)
        opening = self._open(place.actor_name, actor)
        opening.future().add_done_callback(lambda future: self._on_created(place, actor, future))

    def _open(self, name: str, actor: SlotActor) -> Any:
        times_s = (self._timings.remote_poll_s, self._timings.abandoned_s) if is_remote(name) else ()
        return actor.open(OpenCall(self._epoch, times_s))

    def _on_created(self, place: SlotPlace, actor: SlotActor, future: Future[bytes]) -> None:
        if self._closing.is_set() or self._places.get(place.actor_name) != place:
            return  # its node has left
        try:
            self._inbox.put(self._opened(place.actor_name, actor, actor.read(future.result())))
        except FencedError as error:
            log.error("%s", error)  # the next commit of this scheduler ends it
        except Exception as error:  # noqa: BLE001 - whatever the error, the device must become available again
            log.error("%s failed to open: %s", place.actor_name, first_line(error))
            actor.note_loss(error)
            self._reopen(place)

    def _opened(self, name: str, actor: SlotActor, result: bytes) -> SlotOpened:
        slot = SlotDescription.from_json(result)
        self._sessions[slot.name] = _Session(slot.name, actor.opened(slot.pid, slot.socket), name, slot.session)
        device = Device(
            slot.name, slot.kind, slot.position, slot.node, slot.visible, slot.uuid, slot.pid, slot.threads,
            slot.address, slot.slots,
        )  # fmt: skip
        return SlotOpened(device, slot.running, slot.events, slot.sending, slot.folders)

    def _replace(self, name: str, actor: SlotActor, reason: str) -> None:
        self._kills.kill(lambda: actor)
        log.warning("slot %s is not used (%s); replacing it", name, reason)

    def _kill_later(self, session: _Session) -> None:
        self._kills.kill_later(session.actor_name, lambda: session.actor)

    def _reopen(self, place: SlotPlace) -> None:
        if self._devices.lose(place):
            call_later(self._timings.reopen_s, lambda: self._recreate(place))

    def _recreate(self, place: SlotPlace) -> None:
        if self._closing.is_set() or self._places.get(place.actor_name) != place:
            return  # its node has left
        try:
            self._kills.kill(lambda: self._devices.actors.find_before_create(place))
            self._create(place)
        except FencedError as error:
            log.error("%s is not opened: %s", place.actor_name, error)
        except Exception as error:  # noqa: BLE001 - the name of a killed actor becomes free a moment later
            log.warning("failed to create %s, trying again: %s", place.actor_name, error)
            self._reopen(place)


def namespace_of(service_id: str) -> str:
    """The namespace of a service in Ray: services that share a cluster do not see each other's slots."""
    return f"podium-{service_id}"


def connect(address: str, namespace: str, raylet: Path | None = None) -> None:
    """Connect to the Ray of this service.

    Args:
        address: Of its GCS.
        namespace: Of this service.
        raylet: The folder of its raylet, if this machine may have another one.
    """
    ray.init(
        address=address,
        namespace=namespace,
        log_to_driver=False,
        logging_level=logging.ERROR,
        _temp_dir=None if raylet is None else str(raylet),
    )


def _cause(session: _Session, error: Exception) -> Cause:
    """Whether the slot died alone or with its node."""
    return Cause.NODE_LOST if session.actor.note_loss(error) else Cause.INFRASTRUCTURE
