"""Reads utilization and memory of GPUs from NVML; nothing where there is no driver. Slot."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

log = logging.getLogger("podium.slot")


@dataclass(frozen=True, slots=True)
class GpuUsage:
    """Of one or several GPUs; None: the driver does not tell, as the utilization of a MIG instance."""

    percent: float | None = None  # mean
    memory_bytes: int | None = None  # sum


class GpuMeter:
    """Reads the same GPUs again and again."""

    def __init__(self, uuids: Sequence[str], share: float = 1.0) -> None:
        """`share` of one GPU: below 1, only the memory of the own processes counts."""
        self._uuids = tuple(uuids)
        self._share = share
        self._nvml: Any = None
        self._handles: list[Any] | None = None  # None: not opened yet
        self.memory_limit_bytes: int | None = None  # what the processes may use; None before the first reading

    @property
    def has_devices(self) -> bool:
        """Whether there is anything to read."""
        return bool(self._uuids)

    def read(self, pids: Collection[int]) -> GpuUsage:
        """The usage now. `pids`: the own processes, which count if the GPU is shared.

        In a thread: the driver may block. Nothing without a driver.
        """
        if self._handles is None:
            self._handles = self._open()
        percents = [percent for handle in self._handles if (percent := self._percent(handle)) is not None]
        memory = [used for handle in self._handles if (used := self._memory(handle, pids)) is not None]
        return GpuUsage(sum(percents) / len(percents) if percents else None, sum(memory) if memory else None)

    def _open(self) -> list[Any]:
        """Connect to the driver, until the process ends: connecting takes longer than reading."""
        try:
            import pynvml  # needs a driver, so imported on demand
        except ImportError:
            return []
        try:
            pynvml.nvmlInit()
            handles = [pynvml.nvmlDeviceGetHandleByUUID(uuid) for uuid in self._uuids]
            total = sum(int(pynvml.nvmlDeviceGetMemoryInfo(handle).total) for handle in handles)
        except pynvml.NVMLError as error:
            log.warning("cannot measure the GPUs %s: %s", ", ".join(self._uuids), error)
            return []
        self._nvml = pynvml
        self.memory_limit_bytes = int(total * self._share)
        return handles

    def _percent(self, handle: Any) -> float | None:
        try:
            return float(self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
        except self._nvml.NVMLError:  # a MIG instance
            return None

    def _memory(self, handle: Any, pids: Collection[int]) -> int | None:
        try:
            if self._share >= 1.0:
                return int(self._nvml.nvmlDeviceGetMemoryInfo(handle).used)
            # In a container, the driver may know other process ids than this process: then none is known.
            running = self._nvml.nvmlDeviceGetComputeRunningProcesses(handle)
        except self._nvml.NVMLError:
            return None
        own = [each.usedGpuMemory for each in running if each.pid in pids and each.usedGpuMemory is not None]
        return sum(own) if own else None
