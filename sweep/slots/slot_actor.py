"""The slot as a Ray actor: Ray reserves the device, this class finds out which one it got; slot actor."""

from __future__ import annotations

import json
import os

import ray

from podium.sweep.slots.slot import DeviceView, Slot
from podium.sweep.values.errors import NoDeviceError


class RaySlot(Slot):
    """A `Slot` on the device that Ray gave its actor."""

    def __init__(self, kind: str, position: int, pretend: bool) -> None:
        self._kind = kind
        self._position = position
        visible = _reserved_gpu() if kind == "gpu" else ""
        if kind == "gpu":
            self._position = int(visible) if visible.isdecimal() else position
        super().__init__(
            f"{kind}-{self._position}",
            DeviceView(visible, None if kind == "cpu" or pretend else gpu_uuid(visible)),
        )

    async def open(self) -> bytes:
        """What `Slot.open` says, with the device and the node."""
        description = json.loads(await super().open())
        node = ray.get_runtime_context().get_node_id()
        return json.dumps({**description, "kind": self._kind, "position": self._position, "node": node}).encode()


def _reserved_gpu() -> str:
    """The one GPU that Ray reserved for this actor, as CUDA_VISIBLE_DEVICES writes it."""
    ids = ray.get_runtime_context().get_accelerator_ids()["GPU"]
    if len(ids) != 1 or os.environ.get("CUDA_VISIBLE_DEVICES") != ids[0]:
        raise NoDeviceError(f"Ray gave this slot the GPUs {ids} and shows {os.environ.get('CUDA_VISIBLE_DEVICES')!r}")
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
        raise NoDeviceError(f"the NVIDIA driver does not know GPU {visible}: {error}") from error
