"""The difference of two versions on the same rows: its sign, and when it is distinguishable from zero."""

from __future__ import annotations

import numpy as np
import pytest

from podium.ensemble.scoring.paired_difference import PairedDifference, paired_differences
from podium.ensemble.values.ensemble_spec import Task

ROWS = 400
RNG = np.random.default_rng(3)
LABELS = RNG.integers(0, 2, ROWS)


def _right_on(share: float, seed: int = 0) -> np.ndarray:
    """Probabilities of two classes that are right on this share of the rows."""
    right = np.random.default_rng(seed).random(ROWS) < share
    chosen = np.where(right, LABELS, 1 - LABELS)
    return np.where(np.arange(2) == chosen[:, None], 0.8, 0.2).astype(np.float32)


def test_a_large_difference_is_distinguishable_from_zero() -> None:
    found = paired_differences(_right_on(0.6), _right_on(0.9, 1), LABELS, Task.CLASSIFICATION)
    accuracy, loss = found.metrics
    assert (accuracy.metric, loss.metric, found.rows) == ("accuracy", "log_loss", ROWS)
    assert accuracy.difference > 0 and loss.difference < 0, "the second is better in both"
    assert accuracy.distinguishable and loss.distinguishable
    assert accuracy.ci95[0] < accuracy.difference < accuracy.ci95[1]
    assert found.mcnemar is not None and found.mcnemar.p_value < 1e-6
    assert found.mcnemar.only_ensemble_right > found.mcnemar.only_best_right


def test_a_difference_by_chance_is_not() -> None:
    found = paired_differences(_right_on(0.8), _right_on(0.8, 1), LABELS, Task.CLASSIFICATION)
    assert not any(each.distinguishable for each in found.metrics)


def test_equal_outputs_have_no_difference_and_no_test() -> None:
    same = _right_on(0.8)
    found = paired_differences(same, same, LABELS, Task.CLASSIFICATION)
    assert [each.difference for each in found.metrics] == [0, 0]
    assert not any(each.distinguishable for each in found.metrics)
    assert found.mcnemar is None


def test_pairing_finds_a_small_difference_of_rows_that_are_hard_for_both() -> None:
    targets = RNG.normal(0, 5, (ROWS, 1)).astype(np.float32)
    shared = RNG.normal(0, 3, (ROWS, 1)).astype(np.float32)
    found = paired_differences(targets + shared, targets + 0.97 * shared, targets, Task.REGRESSION)
    (rmse,) = found.metrics
    assert rmse.metric == "rmse" and rmse.difference < 0
    assert rmse.distinguishable
    assert found.mcnemar is None


@pytest.mark.parametrize(("low", "high", "expected"), [(-1, 1, False), (0, 1, False), (0.1, 1, True), (-2, -1, True)])
def test_an_interval_that_reaches_zero_is_not_distinguishable(low: float, high: float, *, expected: bool) -> None:
    assert PairedDifference("accuracy", 0.5, (low, high)).distinguishable is expected
