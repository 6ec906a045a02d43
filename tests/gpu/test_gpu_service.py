"""Trials on a real GPU see only the GPU of their slot, by UUID, and release its memory. Skipped without a GPU."""

from __future__ import annotations

from pathlib import Path

import pynvml
import pytest

from tests.running_service import RunningService, function_sweep

CODE = """
import torch

def objective(trial):
    assert trial.device.type == "cuda"
    assert torch.cuda.device_count() == 1
    block = torch.ones(256, 1024, 1024, device=trial.device)
    return float(block.mean())
"""


def _gpus() -> int:
    try:
        pynvml.nvmlInit()
        return int(pynvml.nvmlDeviceGetCount())
    except pynvml.NVMLError:
        return 0


pytestmark = [pytest.mark.gpu, pytest.mark.skipif(_gpus() == 0, reason="there is no GPU")]


def _used_bytes() -> list[int]:
    handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(_gpus())]
    return [int(pynvml.nvmlDeviceGetMemoryInfo(handle).used) for handle in handles]


def test_trial_sees_only_its_gpu_and_releases_memory(tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(CODE)
    with RunningService(tmp_path / "data", "gpu") as service:
        before = _used_bytes()
        devices = {device["id"]: device for device in service.client.devices()}
        assert all(str(device["uuid"]).startswith("GPU-") for device in devices.values())
        sweep = service.client.submit(function_sweep(code, "train:objective", run_cap=2 * len(devices)))
        assert service.client.wait(sweep["id"], 300)["state"] == "finished"
        for trial in service.client.trials(sweep["id"]):
            (attempt,) = service.client.trial(trial["id"])["attempts"]
            assert attempt["torch_device"] == "cuda:0"
            assert attempt["visible_devices"] == devices[attempt["device"]]["visible"]
        assert max(after - first for after, first in zip(_used_bytes(), before, strict=True)) < 64 * 2**20


def test_built_in_model_and_both_ensemble_modes_run_on_gpu(tmp_path: Path) -> None:
    with RunningService(tmp_path / "data", "gpu") as service:
        document = {
            "name": "digits",
            "metric": {"name": "val_accuracy", "goal": "maximize"},
            "parameters": {"lr": {"min": 1e-3, "max": 1e-2, "log": True}, "epochs": {"value": 5}},
            "run_cap": 4,
            "resources": {"device": "gpu"},
            "program": {"model": "cnn", "data": {"name": "digits"}},
        }
        sweep = service.client.wait(service.client.submit(document)["id"], 300)
        assert sweep["state"] == "finished"
        for mode in ("in_graph", "between_graph"):
            ensemble = service.client.wait_ensemble(service.client.build_ensemble(sweep["id"], mode=mode)["id"])
            result = service.client.evaluate(ensemble["id"])["result"]
            assert result is not None and result["ensemble"]["accuracy"] > 0.8
