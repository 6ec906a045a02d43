"""The slots on Ray: attach to existing ones, create missing ones, exchange messages; scheduler.

All Ray calls of the scheduler are here. Slots are detached named actors in one namespace, so a restarted scheduler
finds them. Ray never restarts an actor or retries a call: retries are the scheduler's decision.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import ray
from ray.util import list_named_actors

from podium.sweep.lifecycle.scheduler_messages import Inbox, SlotEvents, SlotLost, SlotOpened
from podium.sweep.protocol.slot_commands import SlotCommand
from podium.sweep.protocol.slot_messages import SlotDescription, decode_events, encode_commands
from podium.sweep.runtime.service_settings import DevicePlan
from podium.sweep.slots.ray_slot_actor import RaySlot
from podium.sweep.values.device import Device
from podium.sweep.values.errors import NoDeviceError
from podium.sweep.values.failure_causes import Cause

NAMESPACE = "podium"
ATTACH_S = 10.0
REOPEN_S = 2.0
_PREFIX = "slot-"
log = logging.getLogger("podium.slots")


class RaySlots:
    """See `podium.sweep.lifecycle.scheduler_ports.SlotPool`."""

    def __init__(self, inbox: Inbox, plan: DevicePlan) -> None:
        self._inbox = inbox
        self._kind, self._count = _devices(plan)
        self._pretend = plan.kind == "pretend-gpu"
        self._actors: dict[str, Any] = {}  # by device
        self._names: dict[str, str] = {}  # device -> actor name
        self._sessions: dict[str, int] = {}
        self._calls: dict[str, int] = {}  # device -> number of its newest call in this session
        self._closed = False

    @property
    def count(self) -> int:
        """The intended number of slots."""
        return self._count

    def attach(self) -> list[SlotOpened]:
        """The slots of an earlier scheduler that still respond."""
        found: list[SlotOpened] = []
        for name in sorted(n for n in list_named_actors() if n.startswith(_PREFIX)):
            try:
                actor = ray.get_actor(name)
                found.append(self._opened(name, actor, ray.get(actor.open.remote(), timeout=ATTACH_S)))
            except (ray.exceptions.RayError, ValueError) as error:
                log.warning("slot %s is unresponsive (%s); replacing it", name, error)
                _kill(name)
        return found

    def open_missing(self) -> None:
        """Create the slots that `attach` did not find; each puts `SlotOpened` into the inbox when it is ready."""
        have = set(self._names.values())
        for position in range(self._count):
            if f"{_PREFIX}{self._kind}-{position}" not in have:
                self._create(position)

    def send(self, device_id: str, acknowledged: int, commands: Sequence[SlotCommand]) -> None:
        """One call of `Slot.exchange`; its result, or the loss of the slot, goes to the inbox."""
        call = self._calls[device_id] = self._calls[device_id] + 1
        reference = self._actors[device_id].exchange.remote(
            self._sessions[device_id], call, acknowledged, encode_commands(commands)
        )
        reference.future().add_done_callback(lambda future: self._on_result(device_id, call, future))

    def kill(self, device_id: str) -> None:
        """Kill a slot that is unresponsive, or does not end its attempt; a new one is created."""
        _kill(self._names[device_id])

    def close(self) -> None:
        """Ignore all further results."""
        self._closed = True

    def _create(self, position: int) -> None:
        name = f"{_PREFIX}{self._kind}-{position}"
        resources = {"num_gpus": 1, "num_cpus": 0} if self._kind == "gpu" else {"num_cpus": 1}
        actor = (
            ray.remote(RaySlot)
            .options(
                name=name,
                namespace=NAMESPACE,
                lifetime="detached",
                max_restarts=0,
                max_task_retries=0,
                **resources,
            )
            .remote(self._kind, position, self._pretend)
        )
        actor.open.remote().future().add_done_callback(lambda future: self._on_created(name, position, actor, future))

    def _on_created(self, name: str, position: int, actor: Any, future: Future[bytes]) -> None:
        if self._closed:
            return
        try:
            self._inbox.put(self._opened(name, actor, future.result()))
        except Exception as error:  # noqa: BLE001 - whatever the error, the device must become available again
            log.error("slot %s failed to open: %s", name, error)
            self._reopen(position)

    def _opened(self, name: str, actor: Any, result: bytes) -> SlotOpened:
        slot = SlotDescription.from_json(result)
        self._actors[slot.name] = actor
        self._names[slot.name] = name
        self._sessions[slot.name] = slot.session
        self._calls[slot.name] = 0
        device = Device(slot.name, slot.kind, slot.position, slot.node, slot.visible, slot.uuid, slot.pid)
        return SlotOpened(device, slot.running, slot.events)

    def _on_result(self, device_id: str, call: int, future: Future[bytes]) -> None:
        if self._closed or call != self._calls[device_id]:
            return  # a newer call returns the same events
        try:
            events = decode_events(future.result())
        except Exception as error:  # noqa: BLE001 - RayActorError and its many relatives
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            self._inbox.put(SlotLost(device_id, f"worker lost: {reason}", _cause(error)))
            self._reopen(int(self._names[device_id].rsplit("-", 1)[1]))
            return
        if events is not None:
            self._inbox.put(SlotEvents(device_id, events))

    def _reopen(self, position: int) -> None:
        timer = threading.Timer(REOPEN_S, self._recreate, [position])
        timer.daemon = True
        timer.start()

    def _recreate(self, position: int) -> None:
        if self._closed:
            return
        _kill(f"{_PREFIX}{self._kind}-{position}")
        try:
            self._create(position)
        except Exception as error:  # noqa: BLE001 - the name of a killed actor becomes free a moment later
            log.warning("failed to create slot %d, trying again: %s", position, error)
            self._reopen(position)


def connect(address: str) -> None:
    """Connect to the Ray of this service."""
    ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, logging_level=logging.ERROR)


def _devices(plan: DevicePlan) -> tuple[str, int]:
    """Kind and number of the slots, by the plan and the resources of Ray. Raises `NoDeviceError`."""
    resources = ray.cluster_resources()
    gpus = int(resources.get("GPU", 0))
    if plan.kind in ("gpu", "pretend-gpu") or (plan.kind == "auto" and gpus):
        if not gpus:
            raise NoDeviceError("this machine has no GPU; start with --devices auto or --devices cpu")
        return "gpu", gpus
    return "cpu", plan.cpu_slots


def _cause(error: Exception) -> Cause:
    """Whether the slot died alone or with its node; for some errors, only Ray's message shows this."""
    lost = isinstance(error, ray.exceptions.NodeDiedError) or "node has died" in str(error)
    return Cause.NODE_LOST if lost else Cause.INFRASTRUCTURE


def _kill(name: str) -> None:
    try:
        ray.kill(ray.get_actor(name), no_restart=True)
    except (ValueError, ray.exceptions.RayError):
        pass
