"""What `podium serve --devices` would make slots of on this machine, without Ray; cli."""

from __future__ import annotations

import os
from dataclasses import dataclass

from podium.sweep.runtime.settings import DevicePlan, cores


@dataclass(frozen=True, slots=True)
class LocalDevices:
    """So many slots of a kind, and why."""

    kind: str
    count: int
    why: str


def local_devices(plan: DevicePlan) -> LocalDevices:
    """The slots of a plan; none where it asks for GPUs and there are none."""
    if plan.kind == "pretend-gpu":
        return LocalDevices("gpu", plan.count or 2, "pretended: they train on the CPU")
    if plan.kind == "cpu":
        return LocalDevices("cpu", plan.cpu_slots, f"{cores()} cores")
    found = gpus()
    if found or plan.kind == "gpu":
        return LocalDevices("gpu", found, "one network per device")
    return LocalDevices("cpu", plan.cpu_slots, f"there is no GPU; {cores()} cores")


def gpus() -> int:
    """How many GPUs this process may use."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    there = _driver_count()
    if visible is None:
        return there
    named = [name for name in visible.split(",") if name.strip() and name.strip() not in ("-1", "NoDevFiles")]
    return min(there, len(named))


def _driver_count() -> int:
    import pynvml  # needs a driver: only where somebody asks

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return 0
    try:
        return int(pynvml.nvmlDeviceGetCount())
    finally:
        pynvml.nvmlShutdown()
