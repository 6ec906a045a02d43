"""Figures for one predictor's answers: how often right, how sure, how far off; numpy only, host and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Predictions = NDArray[np.float32]
Figures = NDArray[np.float64]

SMALLEST = float(
    np.finfo(np.float32).tiny
)  # a probability that float32 cannot tell from 0 costs 87.3 nats, not infinity
CENTRAL_95 = 1.959963984540054  # standard deviations on each side that hold 95 % of a normal distribution


@dataclass(frozen=True, slots=True)
class ClassificationScores:
    """Of the probabilities as they are served, but for the calibration errors (`ece`); losses in nats.

    Those are of 15 bins: of equal width, the usual figure, and of equal mass, in which no bin is almost empty.
    """

    accuracy: float
    log_loss: float
    brier: float
    ece_equal_width: float  # both before any temperature
    ece_equal_mass: float
    ece_equal_width_after_temperature: float | None  # None: no temperature, and no calibration split to fit one
    ece_equal_mass_after_temperature: float | None
    temperature: float | None


@dataclass(frozen=True, slots=True)
class RegressionScores:
    """Over all rows and outputs alike, in the targets' unit; None where no variance of the noise is known."""

    rmse: float
    mae: float
    nll: float | None  # mean of a value, in nats
    coverage95: float | None  # share of the targets in the central 95 % interval: 0.95 is what it should be
    interval95_width: float | None


def hits(probabilities: Predictions, targets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where the label is right: probabilities (rows, classes), targets (rows,) to (rows,)."""
    right: NDArray[np.bool_] = probabilities.argmax(axis=1) == targets
    return right


def log_losses(probabilities: Predictions, targets: NDArray[np.int64]) -> Figures:
    """Minus the log of the true class's probability, a row: (rows, classes), (rows,) to (rows,), in nats."""
    chosen = probabilities[np.arange(len(targets)), targets].astype(np.float64)
    losses: Figures = -np.log(np.clip(chosen, SMALLEST, 1))
    return losses


def brier(probabilities: Predictions, targets: NDArray[np.int64]) -> float:
    """The squared error of the probabilities summed over the classes, a row: 0 to 2 (Brier 1950).

    For two classes that is twice what is often given, the error of one class alone.
    """
    errors = probabilities.astype(np.float64)
    errors[np.arange(len(targets)), targets] -= 1
    return float((errors**2).sum(axis=1).mean())


def squared_errors(values: Predictions, targets: Predictions) -> Figures:
    """A row's squared error, its outputs' mean: twice (rows, outputs) to (rows,)."""
    errors: Figures = ((values.astype(np.float64) - targets) ** 2).mean(axis=1)
    return errors


def regression_scores(values: Predictions, targets: Predictions, variance: NDArray[Any] | None) -> RegressionScores:
    """Of values (rows, outputs), the means of normal distributions with this variance, (outputs,) or (rows, outputs).

    Where a variance is 0 the density has no bound, and nll is None.
    """
    errors = values.astype(np.float64) - targets
    rmse, mae = float(np.sqrt((errors**2).mean())), float(np.abs(errors).mean())
    if variance is None:
        return RegressionScores(rmse, mae, None, None, None)
    wide = np.broadcast_to(variance, errors.shape).astype(np.float64)
    half = CENTRAL_95 * np.sqrt(wide)
    return RegressionScores(
        rmse=rmse,
        mae=mae,
        nll=float(_gaussian_nll(errors, wide).mean()) if (wide > 0).all() else None,
        coverage95=float((np.abs(errors) <= half).mean()),
        interval95_width=float(2 * half.mean()),
    )


def _gaussian_nll(errors: Figures, variance: Figures) -> Figures:
    """Minus the log density of a normal distribution (Lakshminarayanan et al. 2017, equation 1, with its constant)."""
    losses: Figures = 0.5 * (np.log(2 * np.pi * variance) + errors**2 / variance)
    return losses
