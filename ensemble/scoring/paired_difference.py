"""How far two versions of an ensemble differ on the same rows, and whether by more than chance; numpy only, api."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.scoring.predictor_comparison import (
    Interval,
    McNemar,
    hits_difference_ci95,
    mcnemar,
    mean_difference_ci95,
    rmse_difference_ci95,
)
from podium.ensemble.scoring.scores import Predictions, hits, log_losses, squared_errors
from podium.ensemble.values.ensemble_spec import Task


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The second minus the first, in one metric, with the 95 % interval over paired resamples of the rows."""

    metric: str
    difference: float
    ci95: Interval

    @property
    def distinguishable(self) -> bool:
        """Whether the interval excludes zero."""
        low, high = self.ci95
        return low > 0 or high < 0


@dataclass(frozen=True, slots=True)
class PairedDifferences:
    """Of accuracy and log loss, with McNemar's test of equal accuracy; for regression of the RMSE alone."""

    rows: int
    metrics: tuple[PairedDifference, ...]
    mcnemar: McNemar | None  # its `best` is the first one, its `ensemble` the second


def paired_differences(
    first: Predictions, second: Predictions, targets: NDArray[Any], task: Task, seed: int = 0
) -> PairedDifferences:
    """Outputs (rows, outputs) of both, and targets (rows,) of classes or (rows, outputs)."""
    if task is Task.REGRESSION:
        errors, other = squared_errors(second, targets), squared_errors(first, targets)
        change = float(np.sqrt(errors.mean()) - np.sqrt(other.mean()))
        found = PairedDifference("rmse", change, rmse_difference_ci95(errors, other, seed))
        return PairedDifferences(len(targets), (found,), None)
    right, was_right = hits(second, targets), hits(first, targets)
    losses, before = log_losses(second, targets), log_losses(first, targets)
    accuracy = PairedDifference(
        "accuracy", float(right.mean() - was_right.mean()), hits_difference_ci95(right, was_right, seed)
    )
    loss = PairedDifference(
        "log_loss", float(losses.mean() - before.mean()), mean_difference_ci95(losses, before, seed)
    )
    test = mcnemar(right, was_right) if (right != was_right).any() else None
    return PairedDifferences(len(targets), (accuracy, loss), test)
