"""The names of CUDA devices: GPUs by index, MIG instances by UUID, CUDA_VISIBLE_DEVICES respected."""

# ruff: noqa: N802 - the names of pynvml
from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from podium.sweep.runtime import cuda_devices

VISIBLE, DEVICES = cuda_devices.VISIBLE, cuda_devices.DEVICES


class NVMLError(Exception):
    pass


class Driver:
    """`pynvml` of a machine: for each GPU the UUIDs of its MIG instances, or None if it is not in MIG mode."""

    NVML_DEVICE_MIG_ENABLE = 1
    NVMLError = NVMLError

    def __init__(self, *gpus: list[str | None] | None, works: bool = True) -> None:
        self._gpus = gpus
        self._works = works

    def nvmlInit(self) -> None:
        if not self._works:
            raise NVMLError("driver not loaded")

    def nvmlShutdown(self) -> None:
        pass

    def nvmlDeviceGetCount(self) -> int:
        return len(self._gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> SimpleNamespace:
        return SimpleNamespace(uuid=f"GPU-{index}", instances=self._gpus[index])

    def nvmlDeviceGetMigMode(self, gpu: SimpleNamespace) -> tuple[int, int]:
        if gpu.instances == []:
            raise NVMLError("not supported")  # a GPU without MIG
        return (int(gpu.instances is not None),) * 2

    def nvmlDeviceGetMaxMigDeviceCount(self, gpu: SimpleNamespace) -> int:
        return len(gpu.instances)

    def nvmlDeviceGetMigDeviceHandleByIndex(self, gpu: SimpleNamespace, index: int) -> SimpleNamespace:
        if gpu.instances[index] is None:
            raise NVMLError("not found")
        return SimpleNamespace(uuid=gpu.instances[index])

    def nvmlDeviceGetUUID(self, handle: SimpleNamespace) -> str:
        return str(handle.uuid)


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Set the GPUs of the machine, and CUDA_VISIBLE_DEVICES."""

    def set_up(driver: Driver, visible: str | None = None) -> None:
        monkeypatch.setitem(sys.modules, "pynvml", driver)
        monkeypatch.delenv(VISIBLE, raising=False)
        monkeypatch.delenv(DEVICES, raising=False)
        if visible is not None:
            monkeypatch.setenv(VISIBLE, visible)

    monkeypatch.setattr(os, "environ", os.environ.copy())
    return set_up


MIXED: tuple[list[str | None] | None, ...] = (None, ["MIG-a", None, "MIG-b"], [])


@pytest.mark.parametrize(("gpus", "visible", "names"), [
    ((), None, []),
    ((None, []), None, ["0", "1"]),
    ((None, []), "1", ["1"]),
    ((None, []), "0,7", ["0"]),
    ((None, []), "", []),
    ((None, []), "-1", []),
    ((None, []), "GPU-1", ["GPU-1"]),
    (MIXED, None, ["GPU-0", "MIG-a", "MIG-b", "GPU-2"]),
    (MIXED, "MIG-b", ["MIG-b"]),
])  # fmt: skip
def test_names(on, gpus: tuple[list[str | None] | None, ...], visible: str | None, names: list[str]) -> None:  # type: ignore[no-untyped-def]
    on(Driver(*gpus), visible)
    assert cuda_devices.cuda_devices() == names


def test_machine_without_a_driver_has_no_device(on) -> None:  # type: ignore[no-untyped-def]
    on(Driver(None, works=False), "0")
    assert cuda_devices.cuda_devices() == []


def test_ray_gets_the_instances_as_devices(on) -> None:  # type: ignore[no-untyped-def]
    on(Driver(*MIXED))
    assert cuda_devices.publish_cuda_devices() == 4
    assert os.environ[VISIBLE] == os.environ[DEVICES] == "GPU-0,MIG-a,MIG-b,GPU-2"
    assert [cuda_devices.cuda_name(position) for position in (1, 3)] == ["MIG-a", "GPU-2"]
    assert cuda_devices.cuda_position("MIG-b", 9) == 2
    assert cuda_devices.cuda_position("MIG-unknown", 9) == 9


def test_ray_counts_gpus_without_instances_itself(on) -> None:  # type: ignore[no-untyped-def]
    on(Driver(None, None))
    assert cuda_devices.publish_cuda_devices() == 2
    assert VISIBLE not in os.environ
    assert cuda_devices.cuda_name(1) == "1"
    assert cuda_devices.cuda_position("1", 9) == 1


def test_names_without_published_devices_are_positions(on) -> None:  # type: ignore[no-untyped-def]
    on(Driver())
    assert (cuda_devices.cuda_name(1), cuda_devices.cuda_position("1", 0)) == ("1", 1)


def test_mps_is_found_by_its_pipes(tmp_path: Path, on, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    on(Driver())
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    assert not cuda_devices.mps_is_running()
    (tmp_path / "control").touch()
    assert cuda_devices.mps_is_running()
