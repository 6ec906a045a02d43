"""The CUDA devices of a machine, GPUs and MIG instances, as CUDA_VISIBLE_DEVICES names them; CLI, raylets, slots."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

VISIBLE = "CUDA_VISIBLE_DEVICES"
DEVICES = "PODIUM_CUDA_DEVICES"  # of a node, in the environment of its processes: Ray shows a worker only its own
MIG = "MIG-"  # begins the UUID of an instance
_MPS_PIPES = "CUDA_MPS_PIPE_DIRECTORY"
_DEFAULT_MPS_PIPES = "/tmp/nvidia-mps"  # noqa: S108 - the default of NVIDIA's daemon


def cuda_devices() -> list[str]:
    """The names of the devices that this process may use; none without a driver.

    A GPU in MIG mode counts as its instances. Without such a GPU the names are indices, otherwise UUIDs.
    """
    there, gpus = _driver_devices()
    visible = os.environ.get(VISIBLE)
    if visible is None or not gpus:
        return there
    named = [name.strip() for name in visible.split(",") if name.strip() not in ("", "-1", "NoDevFiles")]
    return [name for name in named if not name.isdecimal() or int(name) < gpus]


def publish_cuda_devices() -> int:
    """Set the environment from which Ray and the slots of this node take their devices; returns their number.

    Ray itself counts a GPU in MIG mode as one device.
    """
    devices = cuda_devices()
    os.environ[DEVICES] = ",".join(devices)
    if not all(name.isdecimal() for name in devices):
        os.environ[VISIBLE] = os.environ[DEVICES]
    return len(devices)


def cuda_name(position: int) -> str:
    """The name of the device at a position of its node."""
    devices = _published()
    return devices[position] if position < len(devices) else str(position)


def cuda_position(name: str, otherwise: int) -> int:
    """The position of a device by its name: its index, or the position of its UUID; `otherwise` for an unknown one."""
    if name.isdecimal():
        return int(name)
    devices = _published()
    return devices.index(name) if name in devices else otherwise


def mps_is_running() -> bool:
    """Whether NVIDIA's MPS runs: then kernels of processes that share a GPU run at the same time."""
    return (Path(os.environ.get(_MPS_PIPES) or _DEFAULT_MPS_PIPES) / "control").exists()


def _published() -> list[str]:
    return os.environ.get(DEVICES, "").split(",") if os.environ.get(DEVICES) else []


def _driver_devices() -> tuple[list[str], int]:
    """All devices of the machine, and the number of its GPUs."""
    import pynvml  # needs a driver, so imported on demand

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return [], 0
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        instances = [_mig_instances(pynvml, handle) for handle in handles]
        if not any(found is not None for found in instances):
            return [str(index) for index in range(len(handles))], len(handles)
        names: list[str] = []
        for handle, found in zip(handles, instances, strict=True):
            names += [str(pynvml.nvmlDeviceGetUUID(handle))] if found is None else found
        return names, len(handles)
    finally:
        pynvml.nvmlShutdown()


def _mig_instances(pynvml: Any, handle: Any) -> list[str] | None:
    """The UUIDs of the MIG instances of a GPU; None if it is not in MIG mode."""
    try:
        current, _ = pynvml.nvmlDeviceGetMigMode(handle)
        if current != pynvml.NVML_DEVICE_MIG_ENABLE:
            return None
        count = pynvml.nvmlDeviceGetMaxMigDeviceCount(handle)
    except pynvml.NVMLError:
        return None  # a GPU without MIG
    found = []
    for index in range(count):
        try:
            instance = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
        except pynvml.NVMLError:
            continue  # this place has no instance
        found.append(str(pynvml.nvmlDeviceGetUUID(instance)))
    return found
