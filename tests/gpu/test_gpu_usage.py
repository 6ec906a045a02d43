"""The usage of a real GPU by a trial, from NVML. Skipped without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gpu.test_gpu_service import _gpus
from tests.running_service import RunningService, function_sweep

CODE = """
import time
import torch

def objective(trial):
    block = torch.ones(2, 1024, 1024, 256, device=trial.device)  # 2 GB
    end = time.time() + 6
    while time.time() < end:
        block = block.sin()
        torch.cuda.synchronize()
    return 0.0
"""

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(_gpus() == 0, reason="there is no GPU")]


def test_utilization_and_memory_of_the_gpu_are_sampled(tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(CODE)
    with RunningService(tmp_path / "data", "gpu") as service:
        sweep = service.client.submit(function_sweep(code, "train:objective", run_cap=1))
        assert service.client.wait(sweep["id"], 300)["state"] == "finished"
        (trial,) = service.client.trials(sweep["id"])
        usage = service.client.usage(trial["id"])
        attempt = service.client.trial(trial["id"])["attempts"][-1]
    total = usage["total"]
    assert max(percent for percent in total["gpu_percent"] if percent is not None) > 50
    assert attempt["peak_gpu_memory_mb"] is not None and attempt["peak_gpu_memory_mb"] > 2048
    limit = usage["gpu_memory_limit_mb"]
    assert limit is not None and limit >= attempt["peak_gpu_memory_mb"]
