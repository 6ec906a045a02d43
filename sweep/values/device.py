"""A device and its slot, as the scheduler knows them, and the names of devices; scheduler process and slot."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Device:
    """One device and the slot on it."""

    device_id: str  # `cpu-0`, or `b:gpu-3` on the node named `b`; also the slot's name
    kind: str  # "cpu" or "gpu"
    position: int
    node: str
    visible: str  # CUDA_VISIBLE_DEVICES of its processes
    uuid: str | None
    slot_pid: int
    threads: int = 1  # of a trial on it, if its sweep sets no number: the cores of its machine by the slots there
    address: str = ""  # of its machine, for the other machines of a cluster

    @property
    def is_remote(self) -> bool:
        """Whether it is on another machine than the scheduler."""
        return is_remote(self.device_id)


@dataclass(frozen=True, slots=True)
class GangDevice:
    """One of the devices of an attempt, which has several; their order is that of the ranks."""

    device_id: str
    node: str


def is_remote(device_id: str) -> bool:
    """Whether a device is on another machine than the scheduler: its name then begins with that of its node."""
    return ":" in device_id


def node_name(device_id: str) -> str:
    """The name of the node of a device; "" for the head."""
    return device_id.rpartition(":")[0]


def device_name(kind: str, position: int, node_name: str = "") -> str:
    """The id of a device: `cpu-0` on the head, whose node has no name, or `b:gpu-3` on the node named `b`."""
    return f"{node_name}:{kind}-{position}" if node_name else f"{kind}-{position}"
