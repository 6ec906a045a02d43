"""The slot as a Ray actor: Ray reserves a device, and this class determines which one; slot actor."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from podium.sweep.process_template.template_forked_process import template_socket
from podium.sweep.protocol.message_codec import DeviceView
from podium.sweep.protocol.scheduler_slot_messages import SlotDescription
from podium.sweep.runtime.cuda_devices import cuda_name, cuda_position
from podium.sweep.runtime.joined_node_settings import AGENT_SOCKET, NODE_ROOT
from podium.sweep.runtime.serve_environment_for_trials import WITHHOLD_CREDENTIALS
from podium.sweep.runtime.service_settings import available_cores
from podium.sweep.slots.attempt_files import AgentFiles
from podium.sweep.slots.slot import Slot
from podium.sweep.values.device import device_name
from podium.sweep.values.errors import NoDeviceError

ACTOR_PREFIX = "slot-"


@dataclass(frozen=True, slots=True)
class SlotPlace:
    """A device that gets a slot."""

    kind: str  # "cpu" or "gpu"
    position: int
    node_id: str  # Ray's
    node_name: str = ""  # "" for the head
    devices: int = 1  # of this kind on the node
    cpus: int = 0  # of a CPU slot on a node of an existing Ray cluster; 0: one
    slot: int = 0  # its number on the device
    slots: int = 1  # of the device

    @property
    def actor_name(self) -> str:
        """The name of the slot's actor: a new scheduler finds it by this name."""
        return f"{ACTOR_PREFIX}{device_name(self.kind, self.position, self.node_name, self.slot)}"


@dataclass(frozen=True, slots=True)
class SupervisedNode:
    """What a supervisor has started on a node of an existing Ray cluster; its slots get it as an argument."""

    root: str  # the data directory of the node
    template_socket: str
    agent_socket: str
    abandoned_s: float  # without a call of the scheduler, after which supervisor and slots end
    withhold_credentials: bool = False  # from trials: those of the object store, in the environment of Ray on this node


class RaySlot(Slot):
    """A `Slot` on the device that Ray reserved for its actor."""

    def __init__(self, place: SlotPlace, pretend: bool, root: str, node: SupervisedNode | None = None) -> None:
        """A slot without a session.

        Args:
            place: The device.
            pretend: Whether a CPU slot is pinned as if to a GPU.
            root: The data directory on the head.
            node: The sockets and the data directory of a node of an existing Ray cluster. Otherwise the environment of
                the slot has them.
        """
        kind, position = place.kind, place.position
        self._kind = kind
        self._position = position
        self._slots = place.slots
        self._threads = max(1, (place.cpus or available_cores() // place.devices) // place.slots)
        visible = ""
        if kind == "gpu":
            visible = _reserved_gpu() if place.slot == 0 else cuda_name(position)
            self._position = cuda_position(visible, position)
        super().__init__(
            device_name(kind, self._position, place.node_name, place.slot),
            DeviceView(visible, None if kind == "cpu" or pretend else gpu_uuid(visible)),
            template_socket if node is None else lambda: Path(node.template_socket),
            Path(os.environ.get(NODE_ROOT, root) if node is None else node.root),
            files=AgentFiles(Path(agent)) if (agent := _agent_socket(node)) else None,
        )
        if node is not None:
            if node.withhold_credentials:
                os.environ[WITHHOLD_CREDENTIALS] = "1"
            threading.Thread(target=self._end_when_abandoned, args=(node.abandoned_s,), daemon=True).start()

    def _end_when_abandoned(self, abandoned_s: float) -> None:
        """End this process when the scheduler has not called for long: Ray would reserve the device permanently."""
        while (left_s := self._session.called_s + abandoned_s - time.monotonic()) > 0:
            time.sleep(left_s)
        os._exit(0)

    def describe(self) -> SlotDescription:
        """The state of the slot, with its device and node."""
        node = ray.get_runtime_context().get_node_id()
        return replace(
            super().describe(),
            kind=self._kind,
            position=self._position,
            node=node,
            threads=self._threads,
            address=ray.util.get_node_ip_address(),
            slots=self._slots,
        )


def _agent_socket(node: SupervisedNode | None) -> str | None:
    return os.environ.get(AGENT_SOCKET) if node is None else node.agent_socket


def _reserved_gpu() -> str:
    """The one GPU that Ray reserved for this actor, as CUDA_VISIBLE_DEVICES writes it."""
    ids = ray.get_runtime_context().get_accelerator_ids()["GPU"]
    if len(ids) != 1 or os.environ.get("CUDA_VISIBLE_DEVICES") != ids[0]:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        raise NoDeviceError(f"Ray reserved the GPUs {ids} for this slot, but CUDA_VISIBLE_DEVICES is {visible!r}")
    return str(ids[0])


def gpu_uuid(visible: str) -> str:
    """The UUID of a GPU, from the driver. Raises `NoDeviceError` when the driver does not answer."""
    if not visible.isdecimal():
        return visible  # CUDA_VISIBLE_DEVICES may hold UUIDs itself
    import pynvml  # needs a driver: only on a machine with GPUs

    try:
        pynvml.nvmlInit()
        try:
            return str(pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByIndex(int(visible))))
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        raise NoDeviceError(f"the NVIDIA driver has no GPU {visible}: {error}") from error


def create_actor(
    place: SlotPlace, *, namespace: str, pretend: bool, root: str, node: SupervisedNode | None = None
) -> Any:
    """A new slot on its node; never on another one. For the arguments see `RaySlot`."""
    resources = {"num_gpus": 1, "num_cpus": 0} if place.kind == "gpu" else {"num_cpus": place.cpus or 1}
    if place.slot > 0:
        resources = {"num_cpus": 0}  # the first slot of the device reserves it
    remote = ray.remote(RaySlot).options(
        name=place.actor_name,
        namespace=namespace,
        lifetime="detached",
        max_restarts=0,
        max_task_retries=0,
        scheduling_strategy=NodeAffinitySchedulingStrategy(place.node_id, soft=False),
        **resources,
    )
    return remote.remote(place, pretend, root, node)
