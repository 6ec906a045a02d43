"""The built-in fit loop in real trial processes: every task is learned, the best epoch is kept, patience ends early."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import load_file

from podium.sweep.data import memory_mapped_datasets
from podium.sweep.networks import models, weight_files
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Event, Logged, Reported, Started
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, run

SPLIT = {"split": [0.7, 0.1, 0.1, 0.1], "seed": 0}
QUICK = {"hidden": 16, "lr": 0.01, "epochs": 12}


def fit(
    slot: SlotDriver, model: str, data: str = "digits", metric: str = "val_accuracy", **params: Any
) -> tuple[list[Event], float, Assignment]:
    """The events of the trial, its value, and its assignment."""
    program = {"model": model, "data": {"name": data}}
    assignment = slot.assignment(program, metric=metric, params=params, code=None, split=SPLIT)
    events = slot.until(lambda event: isinstance(event, Ended), run(assignment))
    ended = events[-1]
    assert isinstance(ended, Ended) and ended.state is TrialState.FINISHED and ended.value is not None, ended
    return events, ended.value, assignment


def reported(events: list[Event]) -> list[float]:
    """The curve of the metric."""
    return [event.value for event in events if isinstance(event, Reported)]


def logged(events: list[Event], name: str) -> list[float]:
    """The curve of another metric; the objective has none, since logging it is a report."""
    return [event.values[name] for event in events if isinstance(event, Logged) and name in event.values]


def dataset(name: str, assignment: Assignment) -> memory_mapped_datasets.Dataset:
    """The data set of the trial."""
    return memory_mapped_datasets.load({"name": name, "root": None}, SPLIT, Path(assignment.data_cache))


@pytest.mark.parametrize(
    ("model", "params"),
    [("mlp", {"hidden": 32, "lr": 0.01, "epochs": 4}), ("cnn", {"channels": 4, "lr": 0.01, "epochs": 3})],
)
def test_model_learns_and_best_epoch_is_kept(slot: SlotDriver, model: str, params: dict[str, Any]) -> None:
    events, value, assignment = fit(slot, model, **params)
    curve = reported(events)
    assert value == max(curve) > 0.8
    files = AttemptDirectory(Path(assignment.directory))
    with safe_open(files.model, framework="numpy") as file:
        metadata = file.metadata()
    assert int(metadata["epoch"]) == int(np.argmax(curve))
    assert json.loads(metadata["architecture"])["model"] == model
    _, targets = dataset("digits", assignment).split("validation")
    predicted = load_file(files.predictions)["validation"].argmax(axis=1)
    assert float((predicted == targets).mean()) == pytest.approx(value)


def test_patience_ends_trial_without_improvement(slot: SlotDriver) -> None:
    events, value, _ = fit(slot, "mlp", lr=1e-9, epochs=10, patience=2)
    curve = reported(events)
    assert len(curve) == 3 and value == curve[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric", ["val_rmse", *(pytest.param(name, marks=pytest.mark.slow) for name in ("val_mae", "val_loss"))]
)
def test_regression_is_learned_in_units_of_target(slot: SlotDriver, metric: str) -> None:
    events, value, assignment = fit(slot, "mlp", "diabetes", metric, **QUICK)
    curve = reported(events)
    assert value == min(curve) and not logged(events, metric)
    best = int(np.argmin(curve))
    of = {name: logged(events, name) for name in ("val_rmse", "val_mae")} | {metric: curve}
    kept = load_file(AttemptDirectory(Path(assignment.directory)).predictions)["validation"]
    _, targets = dataset("diabetes", assignment).split("validation")
    rmse = float(np.sqrt(np.square(kept - targets).mean()))
    assert rmse == pytest.approx(of["val_rmse"][best], rel=1e-5)
    assert float(np.abs(kept - targets).mean()) == pytest.approx(of["val_mae"][best], rel=1e-5)
    assert rmse < 0.85 * float(targets.std())


def test_regression_loss_is_in_std_of_training_targets(slot: SlotDriver) -> None:
    events, _, assignment = fit(slot, "mlp", "diabetes", "val_loss", **QUICK)
    _, targets = dataset("diabetes", assignment).split("train")
    in_units = np.array(logged(events, "val_rmse")) / float(targets.std())
    np.testing.assert_allclose(reported(events), np.square(in_units), rtol=1e-4)
    assert logged(events, "train_loss")[-1] < 0.7


@pytest.mark.parametrize(("name", "metric"), [("digits", "val_accuracy"), ("diabetes", "val_rmse")])
def test_saved_model_reproduces_saved_predictions_row_by_row(slot: SlotDriver, name: str, metric: str) -> None:
    _, _, assignment = fit(slot, "mlp", name, metric, hidden=16, lr=0.01, epochs=2, dropout=0.2)
    files = AttemptDirectory(Path(assignment.directory))
    weights, metadata = weight_files.load_weights(files.model)
    network = models.build(weight_files.architecture_of(metadata)).eval()
    network.load_state_dict(weights)
    data, kept = dataset(name, assignment), load_file(files.predictions)
    assert set(kept) == {"validation", "calibration"}
    for split, predictions in kept.items():
        inputs, targets = data.split(split)
        with torch.inference_mode():
            outputs = network(torch.from_numpy(inputs))
        expected = outputs if name == "diabetes" else torch.softmax(outputs, dim=1)
        assert predictions.dtype == np.float32 and len(predictions) == len(targets)
        np.testing.assert_allclose(predictions, expected.numpy(), rtol=1e-5, atol=1e-6)


def test_regression_model_names_its_outputs(slot: SlotDriver) -> None:
    _, _, assignment = fit(slot, "mlp", "diabetes", "val_rmse", epochs=1)
    _, metadata = weight_files.load_weights(AttemptDirectory(Path(assignment.directory)).model)
    architecture = weight_files.architecture_of(metadata)
    assert (architecture["task"], architecture["classes"]) == ("regression", 1)
    assert architecture["labels"] == ["disease progression"] and architecture["image"] == [1, 1, 10]
    assert architecture["mean"] == pytest.approx(dataset("diabetes", assignment).mean)


def test_regression_is_deterministic_for_same_seed(slot: SlotDriver) -> None:
    first, other = (fit(slot, "mlp", "diabetes", "val_rmse", **QUICK, dropout=0.1) for _ in range(2))
    assert reported(first[0]) == reported(other[0])
    one, two = (load_file(AttemptDirectory(Path(trial[2].directory)).predictions) for trial in (first, other))
    assert all(np.array_equal(one[split], two[split]) for split in one)


def test_patience_uses_regression_metric(slot: SlotDriver) -> None:
    events, value, _ = fit(slot, "mlp", "diabetes", "val_rmse", hidden=64, lr=0.05, epochs=60, patience=2)
    curve = reported(events)
    assert len(curve) < 60 and value == min(curve) == curve[-3]


def _interrupted(slot: SlotDriver, assignment: Assignment) -> list[Event]:
    """Run an attempt until it has left a checkpoint, then kill it, as a lost machine would."""
    events = slot.until(lambda event: isinstance(event, Started), run(assignment))
    (started,) = [event for event in events if isinstance(event, Started)]
    while not AttemptDirectory(Path(assignment.directory)).checkpoint.exists():
        events += slot.exchange()
        assert not isinstance(events[-1], Ended), events[-1]
    os.kill(started.pid, signal.SIGKILL)
    events += slot.until(lambda event: isinstance(event, Ended))
    ended = events[-1]
    assert isinstance(ended, Ended) and (ended.state, ended.cause) == (TrialState.FAILED, Cause.SIGNAL), ended
    return events


def test_killed_trial_resumes_with_identical_results(slot: SlotDriver, tmp_path: Path) -> None:
    params: dict[str, Any] = {"hidden": 32, "lr": 0.003, "epochs": 200, "dropout": 0.3, "patience": 150}
    whole_events, value, whole = fit(slot, "mlp", **params)
    first = slot.assignment(
        {"model": "mlp", "data": {"name": "digits"}}, metric="val_accuracy", params=params, code=None, split=SPLIT
    )
    first = replace(first, directory=str(tmp_path / "1"))
    second = replace(first, directory=str(tmp_path / "2"), attempt=2)
    before = reported(_interrupted(slot, first))
    events = slot.until(lambda event: isinstance(event, Ended), run(second))
    ended = events[-1]
    assert isinstance(ended, Ended) and (ended.state, ended.value) == (TrialState.FINISHED, value), ended
    steps = [event.step for event in events if isinstance(event, Reported)]
    assert 0 < steps[0] <= len(before)  # it did not start from scratch
    curve = reported(whole_events)
    assert before == curve[: len(before)] and reported(events) == curve[steps[0] :]
    ours, theirs = (AttemptDirectory(Path(assignment.directory)) for assignment in (second, whole))
    for one, other in ((ours.model, theirs.model), (ours.predictions, theirs.predictions)):
        assert all(np.array_equal(array, load_file(other)[name]) for name, array in load_file(one).items())
