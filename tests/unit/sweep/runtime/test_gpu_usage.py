"""Readings of a driver that is played: whole GPUs, shared ones, MIG instances, and no driver at all."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from podium.sweep.runtime.gpu_usage import GpuMeter, GpuUsage

GB = 1 << 30


class NVMLError(Exception):
    pass


class Driver:
    """The functions of `pynvml` that are used."""

    NVMLError = NVMLError

    def __init__(self, *, fails: bool = False, mig: bool = False) -> None:
        self.fails = fails
        self.mig = mig
        self.opened: list[str] = []

    def nvmlInit(self) -> None:  # noqa: N802
        if self.fails:
            raise NVMLError("driver not loaded")

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        self.opened.append(uuid)
        return uuid

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> Any:  # noqa: N802
        return SimpleNamespace(total=80 * GB, used=(30 if handle == "GPU-a" else 10) * GB)

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:  # noqa: N802
        if self.mig:
            raise NVMLError("not supported")
        return SimpleNamespace(gpu=90 if handle == "GPU-a" else 30)

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> list[Any]:  # noqa: N802
        return [SimpleNamespace(pid=7, usedGpuMemory=3 * GB), SimpleNamespace(pid=8, usedGpuMemory=5 * GB)]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    played = Driver()
    monkeypatch.setitem(sys.modules, "pynvml", played)
    return played


def test_gpus_of_a_process_are_added(driver: Driver) -> None:
    meter = GpuMeter(["GPU-a", "GPU-b"])
    assert meter.memory_limit_bytes is None
    assert meter.read([7]) == GpuUsage(60.0, 40 * GB)
    assert meter.memory_limit_bytes == 160 * GB
    meter.read([7])
    assert driver.opened == ["GPU-a", "GPU-b"]  # once


def test_own_processes_count_on_a_shared_gpu(driver: Driver) -> None:
    meter = GpuMeter(["GPU-a"], 0.25)
    assert meter.read([7, 9]) == GpuUsage(90.0, 3 * GB)
    assert meter.memory_limit_bytes == 20 * GB
    assert meter.read([9]) == GpuUsage(90.0, None)  # the driver knows it by another id, or it has no context yet


def test_instance_of_a_gpu_has_memory_only(driver: Driver) -> None:
    driver.mig = True
    assert GpuMeter(["MIG-c"]).read([7]) == GpuUsage(None, 10 * GB)


def test_nothing_without_a_driver(driver: Driver) -> None:
    driver.fails = True
    assert GpuMeter(["GPU-a"]).read([7]) == GpuUsage()
    assert not GpuMeter([]).has_devices


def test_nothing_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert GpuMeter(["GPU-a"]).read([7]) == GpuUsage()
