"""A slot as a Ray actor of its own, on a node of an existing Ray cluster: Ray reserves its device; slot actor."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from podium.sweep.protocol.slot_process_messages import SlotIdentity
from podium.sweep.runtime.cuda_devices import cuda_position
from podium.sweep.runtime.serve_environment_for_trials import WITHHOLD_CREDENTIALS
from podium.sweep.runtime.service_settings import available_cores
from podium.sweep.slots.placed_slot import PlacedSlot
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


class RaySlot(PlacedSlot):
    """A slot on the device that Ray reserved for its actor, on a node of an existing Ray cluster."""

    def __init__(self, place: SlotPlace, node: SupervisedNode) -> None:
        """A slot without a session; `node` has the sockets and the data directory."""
        visible = _reserved_gpu() if place.kind == "gpu" else ""
        super().__init__(
            identity_of(place, visible, root=node.root, agent=node.agent_socket), lambda: Path(node.template_socket)
        )
        if node.withhold_credentials:
            os.environ[WITHHOLD_CREDENTIALS] = "1"
        threading.Thread(target=self._end_when_abandoned, args=(node.abandoned_s,), daemon=True).start()

    def _end_when_abandoned(self, abandoned_s: float) -> None:
        """End this process when the scheduler has not called for long: Ray would reserve the device permanently."""
        while (left_s := self._session.called_s + abandoned_s - time.monotonic()) > 0:
            time.sleep(left_s)
        os._exit(0)


def identity_of(
    place: SlotPlace, visible: str, *, root: str, agent: str, socket: str = "", pretend: bool = False
) -> SlotIdentity:
    """The identity of a slot of this node.

    Args:
        place: The device.
        visible: CUDA_VISIBLE_DEVICES of its attempts.
        root: The data directory of this machine.
        agent: The socket of the agent of this node; "" on the head.
        socket: Where the slot listens for the scheduler; "" if it does not.
        pretend: Whether a CPU slot is pinned as if to a GPU.
    """
    position = cuda_position(visible, place.position) if place.kind == "gpu" else place.position
    return SlotIdentity(
        name=device_name(place.kind, position, place.node_name, place.slot),
        kind=place.kind,
        position=position,
        visible=visible,
        uuid=None if place.kind == "cpu" or pretend else gpu_uuid(visible),
        node=ray.get_runtime_context().get_node_id(),
        address=ray.util.get_node_ip_address(),
        threads=max(1, (place.cpus or available_cores() // place.devices) // place.slots),
        slots=place.slots,
        root=root,
        agent=agent,
        socket=socket,
    )


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


def create_actor(place: SlotPlace, node: SupervisedNode, *, namespace: str) -> Any:
    """A new slot on its node; never on another one."""
    resources = {"num_gpus": 1, "num_cpus": 0} if place.kind == "gpu" else {"num_cpus": place.cpus or 1}
    remote = ray.remote(RaySlot).options(
        name=place.actor_name,
        namespace=namespace,
        lifetime="detached",
        max_restarts=0,
        max_task_retries=0,
        scheduling_strategy=NodeAffinitySchedulingStrategy(place.node_id, soft=False),
        **resources,
    )
    return remote.remote(place, node)
