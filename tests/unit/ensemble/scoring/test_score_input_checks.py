"""Input that cannot be scored is refused, and the message names the member and the problem."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from podium.ensemble.scoring.score_input_checks import check, check_answers, check_positions
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Rule, Task
from podium.sweep.values.errors import EnsembleError

Array = NDArray[np.float32]

PROBABILITIES: Array = np.full((2, 10, 3), 1 / 3, np.float32)
LABELS = np.arange(10) % 3
VALUES: Array = np.linspace(-5, 5, 40, dtype=np.float32).reshape(2, 10, 2)
TARGETS: Array = np.zeros((10, 2), np.float32)


def _mean_of(members: int, task: Task = Task.CLASSIFICATION) -> Combination:
    return Combination(task, Rule.MEAN, (1 / members,) * members)


def _changed(array: Array, value: float) -> Array:
    changed = array.copy()
    changed[-1, 0, 0] = value
    return changed


def test_valid_input_is_accepted() -> None:
    check("test", PROBABILITIES, LABELS, _mean_of(2), outputs=3)
    check("test", PROBABILITIES, LABELS.astype(np.uint8), _mean_of(2))
    check("test", VALUES, TARGETS, _mean_of(2, Task.REGRESSION))
    check_positions(2, quorum=2, best_member=1)


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        (PROBABILITIES[:, :0], r"test: expected non-empty .* got shape \(2, 0, 3\)"),
        (PROBABILITIES[0], r"test: expected non-empty .* got shape \(10, 3\)"),
        (PROBABILITIES[:1], "test: predictions of 1 members, but 2 weights"),
        (PROBABILITIES[:, :, :2], "test: predictions of 2 outputs; the other split has 3"),
        (_changed(PROBABILITIES, np.nan), "test: member 1 returned a non-finite value"),
        (_changed(PROBABILITIES, np.inf), "test: member 1 returned a non-finite value"),
        (_changed(PROBABILITIES, 7.0), "test: member 1 returned values from .* to 7; expected probabilities"),
        (_changed(PROBABILITIES, -0.1), "test: member 1 returned values from -0.1 to .*; expected probabilities"),
    ],
)
def test_invalid_predictions_are_refused(predictions: Array, message: str) -> None:
    with pytest.raises(EnsembleError, match=message):
        check("test", predictions, LABELS, _mean_of(2), outputs=3)


def test_a_member_is_named_in_the_message() -> None:
    broken = _changed(PROBABILITIES, np.nan)
    with pytest.raises(EnsembleError, match="test: trial 9 of sweep 3 returned a non-finite value"):
        check("test", broken, LABELS, _mean_of(2), names=["trial 4 of sweep 3", "trial 9 of sweep 3"])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (LABELS[:9], r"test: targets have shape \(9,\); expected \(10,\)"),
        (LABELS + 1, "test: targets of 3 classes must be integers from 0 to 2"),
        (LABELS - 1, "test: targets of 3 classes must be integers from 0 to 2"),
        (LABELS.astype(np.float32), "test: targets of 3 classes must be integers from 0 to 2"),
    ],
)
def test_invalid_labels_are_refused(labels: Array, message: str) -> None:
    with pytest.raises(EnsembleError, match=message):
        check("test", PROBABILITIES, labels, _mean_of(2))


def test_invalid_target_values_are_refused() -> None:
    with pytest.raises(EnsembleError, match=r"targets have shape \(10,\); expected \(10, 2\)"):
        check("test", VALUES, TARGETS[:, 0], _mean_of(2, Task.REGRESSION))
    with pytest.raises(EnsembleError, match="test: a target is not finite"):
        check("test", VALUES, np.full_like(TARGETS, np.nan), _mean_of(2, Task.REGRESSION))


def test_answers_of_the_wrong_shape_are_refused() -> None:
    with pytest.raises(EnsembleError, match=r"the ensemble returned shape \(9, 3\); expected .* \(10, 3\)"):
        check_answers("the ensemble", PROBABILITIES[0][:9], (10, 3), Task.CLASSIFICATION)


@pytest.mark.parametrize(
    ("quorum", "best", "message"), [(0, 0, "invalid quorum 0"), (3, 0, "invalid quorum 3"), (1, 2, "member 2")]
)
def test_invalid_positions_are_refused(quorum: int, best: int, message: str) -> None:
    with pytest.raises(EnsembleError, match=message):
        check_positions(2, quorum=quorum, best_member=best)
