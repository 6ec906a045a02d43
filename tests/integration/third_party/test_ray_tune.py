"""Functions of Ray Tune's function API: reports are recorded, and checkpoints are restored after a failure."""

from __future__ import annotations

from typing import Any

import pytest

from tests.program_sweeps import PROGRAMS, run_program, values
from tests.running_service import RunningService


def document(function: str, **more: Any) -> dict[str, Any]:
    return {
        "name": function,
        "method": "random",
        "metric": {"name": "loss", "goal": "minimize"},
        "parameters": {"lr": {"min": 0.1, "max": 10, "log": True}, "layers": {"values": [1, 2, 3]}},
        "run_cap": 2,
        "program": {"function": f"trainable:{function}", "code": str(PROGRAMS / "ray_tune")},
        **more,
    }


def loss_after(iteration: int, params: dict[str, Any]) -> float:
    return float(1 / (1 + params["lr"] * (iteration + 1)) + 0.1 * (params["layers"] - 2) ** 2)


def test_reports_of_unchanged_function_are_recorded(service: RunningService) -> None:
    for trial in run_program(service, document("train")):
        expected = [loss_after(iteration, trial["params"]) for iteration in range(4)]
        assert values(trial, "loss") == pytest.approx(expected)
        assert values(trial, "accuracy") == pytest.approx([1 - loss for loss in expected])
        assert trial["value"] == pytest.approx(expected[-1])


@pytest.mark.slow
def test_failed_attempt_resumes_from_checkpoint(service: RunningService) -> None:
    for trial in run_program(service, document("train_with_checkpoints", retries={"user": 1})):
        assert [attempt["state"] for attempt in trial["attempts"]] == ["failed", "finished"]
        expected = [loss_after(iteration, trial["params"]) for iteration in (2, 3)]
        assert values(trial, "loss")[-2:] == pytest.approx(expected)
        assert trial["value"] == pytest.approx(expected[-1])
