"""The actor of a node that reserves its devices and passes calls on to its slots, which are processes; slot relay.

A Ray worker has 25 MiB and 24 threads, so slots are not Ray workers: the process template forks them. If
this actor dies, all slots of its node die with it; a slot that dies takes no other along.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from podium.sweep.process_template.template_forked_process import template_socket
from podium.sweep.protocol.slot_process_messages import (
    SlotDiedError,
    SlotIdentity,
    decode_pid,
    encode_error,
    epoch_of,
)
from podium.sweep.ray_cluster.ray_slot_actor import SlotPlace, identity_of
from podium.sweep.runtime.cuda_devices import cuda_name
from podium.sweep.runtime.joined_node_settings import AGENT_SOCKET, NODE_ROOT
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.slots.slot_process_client import SlotProcess
from podium.sweep.values.errors import FencedError, NoDeviceError

RELAY_PREFIX = "slots-"
OPEN_S = 120.0  # in which a slot must have opened: its fork server may wait for the imports of the template
KILL_S = 3.0  # in which a slot that is killed should have ended; the relay answers within the time of `slot_actors`
_CALLS_PER_SLOT = 4  # at a time: one waits for events, a newer one ends it


@dataclass(frozen=True, slots=True)
class RelaySettings:
    """What the slots of a service have in common."""

    root: str  # the data directory on the head
    pretend: bool = False  # whether CPU slots are pinned as if to GPUs


class RaySlotRelay:
    """The slots of one node. Calls and answers are bytes, see `slot_process_messages`: they are passed on unread."""

    def __init__(self, settings: RelaySettings) -> None:
        self._settings = settings
        self._slots: dict[str, SlotProcess] = {}  # by the names of their places; also those that have ended
        self._by_pid: dict[int, SlotProcess] = {}
        self._context = ray.get_runtime_context()
        self._epoch = 0  # of the newest scheduler that has opened a slot
        self._opening: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def create(self, place: SlotPlace, call: bytes) -> bytes:
        """Start a slot, in place of the one that has its place, and open it; an error if it does not start."""
        if (refused := self._fence(call)) is not None:
            return refused
        async with self._opening[place.actor_name]:
            try:
                slot = await self._start(place)
                return await asyncio.wait_for(slot.call(call), OPEN_S)
            except TimeoutError:
                await slot.kill(KILL_S)
                return encode_error(SlotDiedError(f"{place.actor_name} did not open within {OPEN_S:g} s"))
            except Exception as error:  # noqa: BLE001 - the scheduler gets it
                return encode_error(error)

    async def call(self, message: bytes) -> bytes:
        """The answer of a slot. The message begins with the pid that the slot had when it was opened.

        Another slot that has taken its place may have the same session.
        """
        pid, call = decode_pid(message)
        slot = self._by_pid.get(pid)
        if slot is None:
            return encode_error(SlotDiedError("another slot has taken its place"))
        return self._fence(call) or await slot.call(call)

    async def pids(self) -> bytes:
        """The process ids of the slots that live by name, as JSON."""
        return json.dumps({name: slot.pid for name, slot in self._slots.items() if not slot.end}).encode()

    async def kill(self, pid: int, epoch: int) -> None:
        """Kill a slot, unless another one has taken its place, or another scheduler that of the caller."""
        slot = self._by_pid.get(pid)
        if slot is not None and epoch >= self._epoch:
            await slot.kill(KILL_S)

    def _fence(self, call: bytes) -> bytes | None:
        """The refusal of a call that opens a slot for a scheduler that another one has replaced."""
        epoch = epoch_of(call)
        if epoch is not None and epoch < self._epoch:
            return encode_error(FencedError(f"the slots of this node belong to the scheduler with epoch {self._epoch}"))
        self._epoch = max(self._epoch, epoch or 0)
        return None

    async def _start(self, place: SlotPlace) -> SlotProcess:
        before = self._slots.pop(place.actor_name, None)
        if before is not None:
            self._by_pid.pop(before.pid, None)
            if not await before.kill(KILL_S):
                self._slots[place.actor_name] = self._by_pid[before.pid] = before
                raise SlotDiedError(f"the process {before.pid} of {place.actor_name} was killed, and has not ended")
        identity = await asyncio.to_thread(self._identity, place)  # the driver of a GPU may take long
        slot = await SlotProcess.start(identity, template_socket())
        self._slots[place.actor_name] = self._by_pid[slot.pid] = slot
        return slot

    def _identity(self, place: SlotPlace) -> SlotIdentity:
        settings = self._settings
        return identity_of(
            place,
            self._visible(place) if place.kind == "gpu" else "",
            root=os.environ.get(NODE_ROOT, settings.root),
            agent=os.environ.get(AGENT_SOCKET, ""),
            socket="" if NODE_ROOT in os.environ else _socket_of(place),
            pretend=settings.pretend,
        )

    def _visible(self, place: SlotPlace) -> str:
        """The GPU of a place, among those that Ray has reserved for this actor."""
        reserved = [str(each) for each in self._context.get_accelerator_ids()["GPU"]]
        name = reserved[place.position] if self._settings.pretend else cuda_name(place.position)
        return check_reserved(name, reserved)


def _socket_of(place: SlotPlace) -> str:
    """Where a slot of the head listens for the scheduler."""
    return str(RuntimeDirectory(template_socket().parent).slot_socket(place.actor_name))


def check_reserved(name: str, reserved: list[str]) -> str:
    """The name of a GPU. Raises `NoDeviceError` if Ray has not reserved it for the relay."""
    if name not in reserved:
        raise NoDeviceError(f"Ray reserved the GPUs {reserved} for the slots of this node, and not {name}")
    return name


def relay_name(node_id: str) -> str:
    """The name of the relay of a node: a new scheduler finds it by this name."""
    return f"{RELAY_PREFIX}{node_id}"


def relay_of(place: SlotPlace, settings: RelaySettings, *, namespace: str) -> Any:
    """The relay of the node of a place; a new one if there is none."""
    resources = {"num_gpus": place.devices, "num_cpus": 0} if place.kind == "gpu" else {"num_cpus": place.devices}
    remote = ray.remote(RaySlotRelay).options(
        name=relay_name(place.node_id),
        namespace=namespace,
        get_if_exists=True,
        lifetime="detached",
        max_restarts=0,
        max_task_retries=0,
        max_concurrency=max(1_000, _CALLS_PER_SLOT * place.devices * place.slots),
        scheduling_strategy=NodeAffinitySchedulingStrategy(place.node_id, soft=False),
        **resources,
    )
    return remote.remote(settings)
