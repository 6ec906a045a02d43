"""A device and its slot, as the scheduler knows them; scheduler process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Device:
    """One device and the slot on it."""

    device_id: str  # `cpu-0`, `gpu-3`; also the slot's name
    kind: str  # "cpu" or "gpu"
    position: int
    node: str
    visible: str  # CUDA_VISIBLE_DEVICES of its processes
    uuid: str | None
    slot_pid: int
