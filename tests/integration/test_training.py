"""The built-in fit loop in real trial processes: both models learn, the best epoch is kept, patience ends early."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from sweep import datasets
from sweep.layout import AttemptDirectory
from sweep.trial import Assignment, Ended, Reported, TrialState
from tests.driver import SlotDriver, run

SPLIT = {"split": [0.7, 0.1, 0.1, 0.1], "seed": 0}


def fit(slot: SlotDriver, model: str, **params: Any) -> tuple[list[float], float, Assignment]:
    """The curve of the metric, the value of the trial, and its assignment."""
    program = {"model": model, "data": {"name": "digits"}}
    assignment = slot.assignment(program, metric="val_accuracy", params=params, code=None, split=SPLIT)
    events = slot.until(lambda event: isinstance(event, Ended), run(assignment))
    ended = events[-1]
    assert isinstance(ended, Ended) and ended.state is TrialState.FINISHED and ended.value is not None, ended
    return [event.value for event in events if isinstance(event, Reported)], ended.value, assignment


@pytest.mark.parametrize(
    ("model", "params"),
    [("mlp", {"hidden": 32, "lr": 0.01, "epochs": 4}), ("cnn", {"channels": 4, "lr": 0.01, "epochs": 3})],
)
def test_a_model_learns_and_the_best_epoch_is_what_it_leaves(
    slot: SlotDriver, model: str, params: dict[str, Any]
) -> None:
    curve, value, assignment = fit(slot, model, **params)
    assert value == max(curve) > 0.8
    files = AttemptDirectory(Path(assignment.directory))
    with safe_open(files.model, framework="numpy") as file:
        metadata = file.metadata()
    assert int(metadata["epoch"]) == int(np.argmax(curve))
    assert json.loads(metadata["architecture"])["model"] == model
    data = datasets.load({"name": "digits", "root": None}, SPLIT, Path(assignment.data_cache))
    _, targets = data.split("validation")
    predicted = load_file(files.predictions)["validation"].argmax(axis=1)
    assert float((predicted == targets).mean()) == pytest.approx(value)


def test_patience_ends_a_trial_that_gets_no_better(slot: SlotDriver) -> None:
    curve, value, _ = fit(slot, "mlp", lr=1e-9, epochs=10, patience=2)
    assert len(curve) == 3 and value == curve[0]
