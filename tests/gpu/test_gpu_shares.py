"""Trials that share a real GPU: each is limited to its part of the memory. Skipped without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.running_service import RunningService, function_sweep

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")]

CODE = """
import time
import torch

def objective(trial):
    total = torch.cuda.get_device_properties(0).total_memory
    within = torch.empty(int(total * 0.15), dtype=torch.uint8, device=trial.device)
    trial.report(0.0, 0)
    time.sleep(2.0)
    if trial.number == 0:
        torch.empty(int(total * 0.5), dtype=torch.uint8, device=trial.device)
    return float(within.numel() > 0)
"""


def test_trial_above_its_share_fails_and_hurts_no_neighbor(tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(CODE)
    with RunningService(tmp_path / "data", "gpu", options=["--trials-per-device", "4"]) as service:
        slots = len(service.client.devices())
        document = function_sweep(code, "train:objective", run_cap=slots, resources={"share": 0.25})
        sweep = service.client.wait(service.client.submit({**document, "retries": {"memory": 0}})["id"], 300)
        trials = service.client.trials(sweep["id"])
        ended = {trial["number"]: (trial["state"], trial["cause"]) for trial in trials if trial["number"] < 4}
        assert ended == {0: ("failed", "device_memory")} | dict.fromkeys((1, 2, 3), ("finished", None))
