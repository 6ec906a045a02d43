"""Detects the GPUs and cores of this machine, and how many slots they give `podium serve`, without Ray; CLI."""

from __future__ import annotations

from dataclasses import dataclass

from podium.sweep.runtime.cuda_devices import cuda_devices, mps_is_running
from podium.sweep.runtime.service_settings import DevicePlan, available_cores


@dataclass(frozen=True, slots=True)
class LocalDevices:
    """The number of slots of a device kind, with the reason."""

    kind: str
    count: int
    why: str


def local_devices(plan: DevicePlan) -> LocalDevices:
    """The slots of a plan; none if it requires GPUs and there are none."""
    if plan.kind == "pretend-gpu":
        return LocalDevices("gpu", plan.count or 2, "simulated GPUs, which train on the CPU")
    if plan.kind == "cpu":
        return LocalDevices("cpu", plan.cpu_slots, f"{available_cores()} cores")
    found = gpus()
    if found or plan.kind == "gpu":
        return LocalDevices("gpu", found, "one trial per device")
    return LocalDevices("cpu", plan.cpu_slots, f"no GPU; {available_cores()} cores")


def gpus() -> int:
    """The number of GPUs and MIG instances that this process may use."""
    return len(cuda_devices())


def sharing_remark(plan: DevicePlan, trials_per_device: int) -> str:
    """How trials share the GPUs of this machine, or "" if they do not."""
    if trials_per_device == 1 or plan.kind not in ("auto", "gpu") or not gpus():
        return ""
    how = "runs: their kernels run at the same time" if mps_is_running() else "does not run: their kernels take turns"
    return f"Up to {trials_per_device} trials share a GPU; NVIDIA MPS {how}"
