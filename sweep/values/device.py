"""A device and its slot, as the scheduler knows them, and the names of devices; scheduler process and slot."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

HEAD = "head"  # the name of the service's own machine, where machines are listed
NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")  # part of the ids of its devices, and of paths of routes


@dataclass(frozen=True, slots=True)
class Device:
    """One device and the slot on it."""

    device_id: str  # `cpu-0`, or `b:gpu-3` on the node named `b`, `gpu-3.1` for its second slot; also the slot's name
    kind: str  # "cpu" or "gpu"
    position: int
    node: str
    visible: str  # CUDA_VISIBLE_DEVICES of its processes
    uuid: str | None
    slot_pid: int
    threads: int = 1  # of a trial on it, if its sweep sets no number: the cores of its machine by the slots there
    address: str = ""  # of its machine, for the other machines of a cluster
    slots: int = 1  # of the same GPU, or of the same share of the cores: the trials that can share it

    @property
    def shared_id(self) -> str:
        """The name that all slots of the same device have in common: `gpu-3` for `gpu-3.1`."""
        return shared_id(self.device_id)

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


def machine_name(device_id: str) -> str:
    """The name of the machine of a device: of its node, or `head`."""
    return node_name(device_id) or HEAD


def shared_id(device_id: str) -> str:
    """The name that all slots of the same device have in common: `b:gpu-3` for `b:gpu-3.1`."""
    node, colon, name = device_id.rpartition(":")
    return f"{node}{colon}{name.partition('.')[0]}"


def slots_per_device(device_ids: Iterable[str]) -> int:
    """How many trials can share a device, by the names of all slots."""
    return max(Counter(map(shared_id, device_ids)).values(), default=1)


def device_name(kind: str, position: int, node_name: str = "", slot: int = 0) -> str:
    """The id of a device: `cpu-0` on the head, whose node has no name, or `b:gpu-3` on the node named `b`.

    `slot`: the number of the slot, if trials share the device; the first one is named like the device.
    """
    name = f"{kind}-{position}.{slot}" if slot else f"{kind}-{position}"
    return f"{node_name}:{name}" if node_name else name
