"""Scores of one predictor: accuracy, losses, errors and intervals; numpy only, host process."""

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
CENTRAL_95 = 1.959963984540054  # standard deviations on each side that contain 95 % of a normal distribution


@dataclass(frozen=True, slots=True)
class ClassificationScores:
    """Scores of the served probabilities, except calibration errors (`ece`); losses in nats.

    Calibration errors use 15 bins: of equal width, the usual definition, and of equal mass, where no bin is almost
    empty.
    """

    accuracy: float
    log_loss: float
    brier: float
    ece_equal_width: float  # both without temperature
    ece_equal_mass: float
    ece_equal_width_after_temperature: float | None  # None: no temperature, and no calibration split to fit one
    ece_equal_mass_after_temperature: float | None
    temperature: float | None


@dataclass(frozen=True, slots=True)
class RegressionScores:
    """Over all rows and outputs, in the targets' unit; None without a noise variance."""

    rmse: float
    mae: float
    nll: float | None  # mean of a value, in nats
    coverage95: float | None  # share of targets in the central 95 % interval; ideally 0.95
    interval95_width: float | None


def hits(probabilities: Predictions, targets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the predicted class is correct, (rows,), for probabilities (rows, classes) and targets (rows,)."""
    right: NDArray[np.bool_] = probabilities.argmax(axis=1) == targets
    return right


def log_losses(probabilities: Predictions, targets: NDArray[np.int64]) -> Figures:
    """Negative log of the true class's probability, (rows,) in nats, for (rows, classes) and (rows,)."""
    chosen = probabilities[np.arange(len(targets)), targets].astype(np.float64)
    losses: Figures = -np.log(np.clip(chosen, SMALLEST, 1))
    return losses


def brier(probabilities: Predictions, targets: NDArray[np.int64]) -> float:
    """The Brier score: squared error of the probabilities summed over classes, 0 to 2 (Brier 1950).

    For two classes this is twice the common definition, which uses one class.
    """
    errors = probabilities.astype(np.float64)
    errors[np.arange(len(targets)), targets] -= 1
    return float((errors**2).sum(axis=1).mean())


def squared_errors(values: Predictions, targets: Predictions) -> Figures:
    """The mean squared error over the outputs of each row, (rows,), for values and targets (rows, outputs)."""
    errors: Figures = ((values.astype(np.float64) - targets) ** 2).mean(axis=1)
    return errors


def regression_scores(values: Predictions, targets: Predictions, variance: NDArray[Any] | None) -> RegressionScores:
    """Scores of values (rows, outputs) as means of normal distributions with the given variance.

    `variance` is (outputs,) or (rows, outputs). If a variance is 0, the density is unbounded and nll is None.
    """
    errors = values.astype(np.float64) - targets
    rmse, mae = float(np.sqrt((errors**2).mean())), float(np.abs(errors).mean())
    if variance is None:
        return RegressionScores(rmse, mae, nll=None, coverage95=None, interval95_width=None)
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
    """The negative log density of a normal distribution (Lakshminarayanan et al. 2017, equation 1)."""
    losses: Figures = 0.5 * (np.log(2 * np.pi * variance) + errors**2 / variance)
    return losses
