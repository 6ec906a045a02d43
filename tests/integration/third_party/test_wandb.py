"""A script of W&B's shape, which reads `wandb.config` and calls `wandb.log`, swept by its own sweep file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.program_sweeps import PROGRAMS, run_program_file, values
from tests.repository import loaded
from tests.running_service import RunningService

FOLDER = PROGRAMS / "wandb_script"


def test_script_uses_sampled_values_and_logged_metrics_are_recorded(service: RunningService) -> None:
    accuracy_after: Callable[[int, float, int], float] = loaded(FOLDER / "net.py").accuracy_after
    trials = run_program_file(service, FOLDER / "sweep.yaml")
    assert len(trials) == 3
    for trial in trials:
        params: dict[str, Any] = trial["params"]
        expected = [accuracy_after(epoch, params["lr"], params["width"]) for epoch in range(3)]
        assert values(trial, "accuracy") == pytest.approx(expected, rel=1e-9)
        assert values(trial, "loss") == pytest.approx([1 - value for value in expected], rel=1e-9)
        assert [point[0] for point in trial["metrics"]["accuracy"]] == [0, 1, 2]
        assert trial["value"] == pytest.approx(expected[-1], rel=1e-9)
    assert len({trial["value"] for trial in trials}) == 3
