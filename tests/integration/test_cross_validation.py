"""Cross-validation in real trial processes: the mean is reported, one network is kept, and user code receives folds."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from podium.sweep.data import memory_mapped_datasets
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.slot_events import Ended, Event, Logged, Reported, Started
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, run
from tests.running_service import wait_for

SPLIT = {"split": [0.5, 0.2, 0.1, 0.2], "seed": 0, "folds": 3}
PARAMS = {"hidden": 16, "lr": 0.01, "epochs": 4, "dropout": 0.1}


def assignment_of(slot: SlotDriver, name: str, metric: str, **params: Any) -> Assignment:
    program = {"model": "mlp", "data": {"name": name}}
    return slot.assignment(program, metric=metric, params={**PARAMS, **params}, code=None, split=SPLIT)


def ended(events: list[Event]) -> float:
    end = events[-1]
    assert isinstance(end, Ended) and end.state is TrialState.FINISHED and end.value is not None, end
    return end.value


def reported(events: list[Event]) -> list[float]:
    return [event.value for event in events if isinstance(event, Reported)]


def logged(events: list[Event], name: str) -> list[float]:
    return [event.values[name] for event in events if isinstance(event, Logged) and name in event.values]


@pytest.mark.parametrize(
    ("name", "metric", "pick"),
    [
        pytest.param("digits", "val_accuracy", np.argmax, marks=pytest.mark.slow),
        ("diabetes", "val_rmse", np.argmin),
    ],
)
def test_value_is_mean_over_folds_and_one_network_is_kept(slot: SlotDriver, name: str, metric: str, pick: Any) -> None:
    assignment = assignment_of(slot, name, metric)
    events = slot.until(lambda event: isinstance(event, Ended), run(assignment))
    curve = reported(events)
    best = int(pick(curve))
    assert len(curve) == 4 and ended(events) == curve[best]
    assert all(0 < spread < abs(mean) for spread, mean in zip(logged(events, f"{metric}_std"), curve, strict=True))
    assert len(logged(events, "refit_train_loss")) == best + 1
    files = AttemptDirectory(Path(assignment.directory))
    with safe_open(files.model, framework="numpy") as file:
        assert int(file.metadata()["epoch"]) == best
    whole = memory_mapped_datasets.load({"name": name}, SPLIT, Path(assignment.data_cache))
    said = load_file(files.predictions)["validation"]
    targets = whole.targets_of("validation")
    (refit,) = logged(events, f"refit_{metric}")
    if name == "digits":
        assert float((said.argmax(axis=1) == targets).mean()) == pytest.approx(refit)
    else:
        assert float(np.sqrt(np.square(said - targets).mean())) == pytest.approx(refit, rel=1e-5)


@pytest.mark.slow
def test_interrupted_folds_resume_with_identical_results(slot: SlotDriver, tmp_path: Path) -> None:
    whole = assignment_of(slot, "digits", "val_accuracy", epochs=120)
    whole_events = slot.until(lambda event: isinstance(event, Ended), run(whole))
    first = replace(assignment_of(slot, "digits", "val_accuracy", epochs=120), directory=str(tmp_path / "1"))
    events = slot.until(lambda event: isinstance(event, Started), run(first))
    (started,) = [event for event in events if isinstance(event, Started)]
    wait_for("a checkpoint is written", AttemptDirectory(Path(first.directory)).checkpoint.exists)
    os.kill(started.pid, signal.SIGKILL)
    slot.until(lambda event: isinstance(event, Ended))
    second = replace(first, directory=str(tmp_path / "2"), attempt=2)
    events = slot.until(lambda event: isinstance(event, Ended), run(second))
    assert ended(events) == ended(whole_events)
    curve, rest = reported(whole_events), reported(events)
    assert 0 < len(rest) < len(curve) and rest == curve[-len(rest) :]
    ours, theirs = (load_file(AttemptDirectory(Path(a.directory)).predictions) for a in (second, whole))
    assert all(np.array_equal(ours[split], theirs[split]) for split in ours)


def test_user_code_receives_data_as_batches_and_folds(slot: SlotDriver) -> None:
    program = {"function": "train:on_data", "data": {"name": "digits"}}
    end = slot.result(program, split=SPLIT)
    assert (end.state, end.value) == (TrialState.FINISHED, 3.0), end


def test_missing_data_is_reported(slot: SlotDriver) -> None:
    end = slot.result("on_data")
    assert end.state is TrialState.FAILED and "the sweep file has no program.data; add: program:" in end.message
