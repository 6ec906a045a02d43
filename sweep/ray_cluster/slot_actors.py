"""How the scheduler reaches slots through Ray: the actors of slots, or the relays of nodes; scheduler."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, Protocol

import ray
from ray.exceptions import ActorUnavailableError, NodeDiedError, RayError, RayTaskError
from ray.util import list_named_actors

from podium.sweep.protocol.slot_process_messages import ExchangeCall, OpenCall, encode_pid, result_of
from podium.sweep.ray_cluster.ray_actor_kill import find_actor, kill_actor
from podium.sweep.ray_cluster.ray_slot_actor import ACTOR_PREFIX, SlotPlace
from podium.sweep.ray_cluster.ray_slot_relay import RELAY_PREFIX, RelaySettings, relay_name, relay_of
from podium.sweep.slots.local_slot_connections import LocalSlotConnection, LocalSlotConnections

ANSWER_S = 5.0  # in which the relay of a slot that is to be killed must answer, or it is killed itself
RETRY_S = 0.25  # between two tries to reach a relay that is unavailable
log = logging.getLogger("podium.slots")


class SlotActor(Protocol):
    """One slot. `open` and `exchange` return references to what `read` reads."""

    def open(self, call: OpenCall) -> Any:
        """Call `Slot.open`, of a new slot when it has started."""

    def opened(self, pid: int, socket: str) -> SlotActor:
        """The slot that has been opened, with this process id: never another one that takes its place.

        `socket`: where it takes calls without Ray; "" if it does not.
        """

    def exchange(self, call: ExchangeCall) -> Any:
        """Call `Slot.exchange`."""

    def read(self, answer: bytes) -> bytes:
        """The result of a call. Raises `FencedError` and other errors of `PodiumError`."""

    def note_loss(self, error: Exception) -> bool:
        """The slot is lost by an error of a call. Returns whether all slots of its node are."""

    def kill(self, epoch: int) -> SlotActor | None:
        """Kill the slot for the scheduler with this epoch; not in a callback of Ray.

        Returns what must be killed instead, since the slot cannot be reached.
        """


class SlotActors(Protocol):
    """The slots of a cluster; not in a callback of Ray."""

    def known(self, timeout_s: float) -> dict[str, SlotActor]:
        """Those of an earlier scheduler by name. A node that does not answer in time is one that never opens."""

    def find(self, place: SlotPlace) -> SlotActor | None:
        """The slot that has this place now, or what must be killed with it."""

    def find_before_create(self, place: SlotPlace) -> SlotActor | None:
        """The slot that must be killed before another one is created at this place."""


class CreatedSlots(SlotActors, Protocol):
    """Slots that are created without anything else."""

    def create(self, place: SlotPlace) -> SlotActor:
        """A slot that starts when it is opened."""


@dataclass(frozen=True, slots=True)
class OwnActor:
    """A slot that is an actor."""

    actor: Any

    def open(self, call: OpenCall) -> Any:
        """See `SlotActor`."""
        return self.actor.open.remote(call.epoch, *call.times_s)

    def opened(self, pid: int, socket: str) -> SlotActor:
        """See `SlotActor`."""
        return self

    def exchange(self, call: ExchangeCall) -> Any:
        """See `SlotActor`."""
        return self.actor.exchange.remote(*call)

    def read(self, answer: bytes) -> bytes:
        """See `SlotActor`."""
        return answer

    def note_loss(self, error: Exception) -> bool:
        """See `SlotActor`; for some errors, only Ray's message shows it."""
        return isinstance(error, NodeDiedError) or "node has died" in str(error)

    def kill(self, epoch: int) -> None:
        """See `SlotActor`."""
        kill_actor(self.actor)


class ActorPerSlot:
    """Each slot is an actor, which reserves its device; see `SlotActors`."""

    def known(self, timeout_s: float) -> dict[str, SlotActor]:
        """See `SlotActors`; they are not asked."""
        return {name: OwnActor(actor) for name, actor in _named(ACTOR_PREFIX).items()}

    def find(self, place: SlotPlace) -> SlotActor | None:
        """See `SlotActors`."""
        actor = find_actor(place.actor_name)
        return None if actor is None else OwnActor(actor)

    def find_before_create(self, place: SlotPlace) -> SlotActor | None:
        """See `SlotActors`: otherwise, its name is not free."""
        return self.find(place)


@dataclass(frozen=True, slots=True)
class RelayedSlot:
    """A slot that the relay of its node has started, or will start."""

    relay: Any
    forget: Callable[[Any], None]  # called with the relay when it has died
    connections: LocalSlotConnections
    pid: int = 0  # 0: it is not known yet
    place: SlotPlace | None = None  # of a slot that starts when it is opened

    def open(self, call: OpenCall) -> Any:
        """See `SlotActor`."""
        if self.place is not None:
            return self.relay.create.remote(self.place, call.encode())
        return self.relay.call.remote(encode_pid(self.pid) + call.encode())

    def opened(self, pid: int, socket: str) -> SlotActor:
        """See `SlotActor`."""
        relayed = replace(self, pid=pid, place=None)
        if not socket:
            return relayed
        try:
            connection = self.connections.connect(socket, pid)
        except (OSError, RuntimeError) as error:
            log.warning("cannot connect to the slot at %s, so calls go through its relay: %s", socket, error)
            return relayed
        return LocalSlot(relayed, connection)

    def exchange(self, call: ExchangeCall) -> Any:
        """See `SlotActor`."""
        return self.relay.call.remote(encode_pid(self.pid) + call.encode())

    def read(self, answer: bytes) -> bytes:
        """See `SlotActor`."""
        return result_of(answer)

    def note_loss(self, error: Exception) -> bool:
        """See `SlotActor`: the slots of a node die with its relay."""
        if not isinstance(error, RayError) or isinstance(error, RayTaskError):
            return False
        self.forget(self.relay)
        return True

    def kill(self, epoch: int) -> SlotActor | None:
        """See `SlotActor`. If the relay does not answer, it must be killed: then all slots of its node end."""
        try:
            ray.get(self.relay.kill.remote(self.pid, epoch), timeout=ANSWER_S)
        except RayError:  # also after the timeout
            return SilentRelay(self.relay, self.forget, self.connections)
        return None


@dataclass(frozen=True, slots=True)
class LocalSlot:
    """A slot on the machine of the scheduler: it is called over its socket, and through its relay when that is closed.

    Its end is noticed in this way as well: the relay reports it in the answer.
    """

    relayed: RelayedSlot
    connection: LocalSlotConnection

    def open(self, call: OpenCall) -> Any:
        """See `SlotActor`."""
        return self.relayed.open(call)

    def opened(self, pid: int, socket: str) -> SlotActor:
        """See `SlotActor`."""
        return self.relayed.opened(pid, socket)

    def exchange(self, call: ExchangeCall) -> Any:
        """See `SlotActor`. A call that may not have arrived is sent again: a slot executes it once."""
        return _LocalAnswer(self.connection.call(call.encode()), lambda: self.relayed.exchange(call))

    def read(self, answer: bytes) -> bytes:
        """See `SlotActor`."""
        return self.relayed.read(answer)

    def note_loss(self, error: Exception) -> bool:
        """See `SlotActor`."""
        return self.relayed.note_loss(error)

    def kill(self, epoch: int) -> SlotActor | None:
        """See `SlotActor`."""
        return self.relayed.kill(epoch)


class _LocalAnswer:
    """The answer to a call over the socket; of another call if the connection has closed."""

    def __init__(self, answer: Future[bytes], call_again: Callable[[], Any]) -> None:
        self._answer = answer
        self._call_again = call_again

    def future(self) -> Future[bytes]:
        """The answer as soon as there is one."""
        answer: Future[bytes] = Future()
        self._answer.add_done_callback(lambda done: self._take(done, answer))
        return answer

    def _take(self, done: Future[bytes], answer: Future[bytes]) -> None:
        if done.exception() is None:
            answer.set_result(done.result())
            return
        try:
            again: Future[bytes] = self._call_again().future()
        except Exception as error:  # noqa: BLE001 - whatever the error of Ray, the caller must get it
            answer.set_exception(error)
        else:
            again.add_done_callback(lambda done: _copy(done, answer))


def _copy(done: Future[bytes], answer: Future[bytes]) -> None:
    error = done.exception()
    if error is None:
        answer.set_result(done.result())
    else:
        answer.set_exception(error)


@dataclass(frozen=True, slots=True)
class SilentRelay(RelayedSlot):
    """A relay that does not answer, in place of its slots: a slot without a pid, which never opens."""

    def kill(self, epoch: int) -> None:
        """Kill the relay, and all slots of its node with it."""
        kill_actor(self.relay)


class RelayPerNode:
    """The slots of a node are processes below one actor, which reserves its devices; see `CreatedSlots`."""

    def __init__(self, settings: RelaySettings, *, namespace: str) -> None:
        self._settings = settings
        self._namespace = namespace
        self._connections = LocalSlotConnections()
        self._relays: dict[str, Any] = {}  # by the node's id; to look an actor up unpickles its methods
        self._creating = threading.Lock()
        self._lock = threading.Lock()  # of `_relays`; never held during a call of Ray, whose callbacks take it

    def known(self, timeout_s: float) -> dict[str, SlotActor]:
        """See `SlotActors`."""
        until_s = time.monotonic() + timeout_s
        waiting = _named(RELAY_PREFIX)
        found: dict[str, SlotActor] = {}
        while waiting:
            asked = {name: relay.pids.remote() for name, relay in waiting.items()}
            left_s = max(0.0, until_s - time.monotonic())
            ray.wait(list(asked.values()), num_returns=len(asked), timeout=left_s)
            for name, reference in asked.items():
                relay = waiting[name]
                try:
                    pids = json.loads(ray.get(reference, timeout=0))
                except ActorUnavailableError:
                    if time.monotonic() < until_s:
                        continue
                    found[name] = SilentRelay(relay, self._forget, self._connections)
                except RayError:
                    found[name] = SilentRelay(relay, self._forget, self._connections)
                else:
                    self._relays[name.removeprefix(RELAY_PREFIX)] = relay
                    found |= {slot: self._slot(relay, pid) for slot, pid in pids.items()}
                del waiting[name]
            if waiting:
                time.sleep(RETRY_S)
        return found

    def _slot(self, relay: Any, pid: int) -> SlotActor:
        return RelayedSlot(relay, self._forget, self._connections, pid)

    def create(self, place: SlotPlace) -> SlotActor:
        """See `CreatedSlots`."""
        with self._creating:
            relay = self._relays.get(place.node_id)
            if relay is None:
                relay = relay_of(place, self._settings, namespace=self._namespace)
                with self._lock:
                    self._relays[place.node_id] = relay
        return RelayedSlot(relay, self._forget, self._connections, place=place)

    def find(self, place: SlotPlace) -> SlotActor | None:
        """See `SlotActors`."""
        relay = self._relays.get(place.node_id) or find_actor(relay_name(place.node_id))
        if relay is None:
            return None
        try:
            pid = json.loads(ray.get(relay.pids.remote(), timeout=ANSWER_S)).get(place.actor_name)
        except RayError:
            return SilentRelay(relay, self._forget, self._connections)
        return None if pid is None else self._slot(relay, pid)

    def find_before_create(self, place: SlotPlace) -> SlotActor | None:
        """See `SlotActors`: the relay ends the slot before it starts another one."""
        return None

    def _forget(self, relay: Any) -> None:
        """The next slot is created by a new relay."""
        with self._lock:
            self._relays = {node_id: each for node_id, each in self._relays.items() if each is not relay}


def _named(prefix: str) -> dict[str, Any]:
    """The actors whose names begin with this."""
    names = [name for name in sorted(list_named_actors()) if name.startswith(prefix)]
    return {name: actor for name in names if (actor := find_actor(name)) is not None}
