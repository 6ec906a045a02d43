"""The slots on Ray: find those that live, create the missing, carry messages; scheduler.

All Ray calls of the scheduler are here. Slots are detached actors with names in one namespace, so a scheduler that
comes back finds them; Ray itself never restarts or retries any of them, since retries are the scheduler's.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import ray
from ray.util import list_named_actors

from podium.sweep.lifecycle.scheduler_messages import Device, Inbox, SlotLost, SlotNews, SlotOpened
from podium.sweep.runtime.settings import DevicePlan
from podium.sweep.slots.slot_actor import RaySlot
from podium.sweep.values.errors import NoDeviceError
from podium.sweep.values.trial import AttemptKey, Cause, event_from_dict

NAMESPACE = "podium"
ATTACH_S = 10.0
REOPEN_S = 2.0
_PREFIX = "slot-"
log = logging.getLogger("podium.slots")


class RaySlots:
    """See `podium.sweep.lifecycle.scheduler_messages.SlotPool`."""

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
        """How many slots there are to be."""
        return self._count

    def attach(self) -> list[SlotOpened]:
        """The slots of a scheduler before us that still answer."""
        found: list[SlotOpened] = []
        for name in sorted(n for n in list_named_actors() if n.startswith(_PREFIX)):
            try:
                actor = ray.get_actor(name)
                found.append(self._opened(name, actor, ray.get(actor.open.remote(), timeout=ATTACH_S)))
            except (ray.exceptions.RayError, ValueError) as error:
                log.warning("slot %s does not answer (%s); it gets a new one", name, error)
                _kill(name)
        return found

    def open_missing(self) -> None:
        """Create what `attach` did not find; each says `SlotOpened` when it is warm."""
        have = set(self._names.values())
        for position in range(self._count):
            if f"{_PREFIX}{self._kind}-{position}" not in have:
                self._create(position)

    def send(self, device_id: str, acknowledged: int, commands: Sequence[dict[str, Any]]) -> None:
        """One call carries all; its answer, or the slot's death, goes to the inbox."""
        call = self._calls[device_id] = self._calls[device_id] + 1
        reference = self._actors[device_id].exchange.remote(
            self._sessions[device_id], call, acknowledged, json.dumps(commands).encode()
        )
        reference.future().add_done_callback(lambda future: self._answered(device_id, call, future))

    def kill(self, device_id: str) -> None:
        """End a slot that does not answer, or does not end what it runs; it is lost, and a new one opened."""
        _kill(self._names[device_id])

    def close(self) -> None:
        """Expect no more answers."""
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
        actor.open.remote().future().add_done_callback(lambda future: self._created(name, position, actor, future))

    def _created(self, name: str, position: int, actor: Any, future: Future[bytes]) -> None:
        if self._closed:
            return
        try:
            self._inbox.put(self._opened(name, actor, future.result()))
        except Exception as error:  # noqa: BLE001 - whatever it was, the device must come back
            log.error("slot %s did not open: %s", name, error)
            self._reopen(position)

    def _opened(self, name: str, actor: Any, answer: bytes) -> SlotOpened:
        about = json.loads(answer)
        device_id = about["name"]
        self._actors[device_id] = actor
        self._names[device_id] = name
        self._sessions[device_id] = about["session"]
        self._calls[device_id] = 0
        device = Device(
            device_id, about["kind"], about["position"], about["node"], about["visible"], about["uuid"], about["pid"]
        )
        running = None if about["running"] is None else AttemptKey(*about["running"])
        return SlotOpened(device, running, _events(about["events"]))

    def _answered(self, device_id: str, call: int, future: Future[bytes]) -> None:
        if self._closed or call != self._calls[device_id]:
            return  # a newer call waits for the same events
        try:
            answer = json.loads(future.result())
        except Exception as error:  # noqa: BLE001 - RayActorError and its many relatives
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            self._inbox.put(SlotLost(device_id, f"its slot is gone: {reason}", _cause(error)))
            self._reopen(int(self._names[device_id].rsplit("-", 1)[1]))
            return
        if answer is not None:
            self._inbox.put(SlotNews(device_id, _events(answer)))

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
        except Exception as error:  # noqa: BLE001 - the name may be free only a moment later
            log.warning("slot %d cannot be created yet: %s", position, error)
            self._reopen(position)


def connect(address: str) -> None:
    """Join the Ray of this service."""
    ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, logging_level=logging.ERROR)


def _devices(plan: DevicePlan) -> tuple[str, int]:
    """Kind and number of the slots that the plan makes of what Ray has. Raises `NoDeviceError`."""
    resources = ray.cluster_resources()
    gpus = int(resources.get("GPU", 0))
    if plan.kind in ("gpu", "pretend-gpu") or (plan.kind == "auto" and gpus):
        if not gpus:
            raise NoDeviceError("there is no GPU on this machine; start with --devices auto or --devices cpu")
        return "gpu", gpus
    return "cpu", plan.cpu_slots


def _events(numbered: Any) -> tuple[tuple[int, Any], ...]:
    return tuple((number, event_from_dict(event)) for number, event in numbered)


def _cause(error: Exception) -> Cause:
    """Whether the slot died alone or with its node: Ray says so only in words."""
    lost = isinstance(error, ray.exceptions.NodeDiedError) or "node has died" in str(error)
    return Cause.NODE_LOST if lost else Cause.INFRASTRUCTURE


def _kill(name: str) -> None:
    try:
        ray.kill(ray.get_actor(name), no_restart=True)
    except (ValueError, ray.exceptions.RayError):
        pass
