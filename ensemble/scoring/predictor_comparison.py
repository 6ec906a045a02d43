"""Statistical comparison of two predictors on the same rows; numpy only, host process."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.scoring.scores import Figures, Predictions, hits, log_losses, squared_errors

RESAMPLES = 2000
BLOCK_DRAWS = 2**20  # rows drawn at once: 8 MiB of positions
FEW_DISCORDANT = 25  # rows; with fewer, the chi-square approximation is inaccurate

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class McNemar:
    """McNemar's test of equal accuracy, which uses the rows that exactly one classifier predicts correctly."""

    only_ensemble_right: int
    only_best_right: int
    exact: bool  # exact binomial test; else
    p_value: float  # probability of a split at least this uneven under equal accuracy


@dataclass(frozen=True, slots=True)
class Comparison:
    """The ensemble compared with its best member, chosen before this split was used; ensemble minus best member.

    Classification: `metric` is accuracy; a positive difference favors the ensemble. Regression: `metric` is rmse; a
    negative difference favors the ensemble, and fields for classification are None.
    """

    metric: str
    difference: float
    difference_ci95: Interval
    log_loss_difference: float | None
    log_loss_difference_ci95: Interval | None
    mcnemar: McNemar | None
    disagreement: tuple[tuple[float, ...], ...]  # pairs of members: share of rows with different labels


def compare_labels(
    predictions: Predictions, combined: Predictions, targets: NDArray[Any], *, best_member: int, seed: int
) -> Comparison:
    """Probabilities (members, rows, classes) and (rows, classes), targets (rows,)."""
    best = predictions[best_member]
    right, best_right = hits(combined, targets), hits(best, targets)
    losses, best_losses = log_losses(combined, targets), log_losses(best, targets)
    return Comparison(
        metric="accuracy",
        difference=float(right.mean() - best_right.mean()),
        difference_ci95=hits_difference_ci95(right, best_right, seed),
        log_loss_difference=float(losses.mean() - best_losses.mean()),
        log_loss_difference_ci95=mean_difference_ci95(losses, best_losses, seed),
        mcnemar=mcnemar(right, best_right),
        disagreement=_rows(label_disagreement(predictions)),
    )


def compare_values(
    predictions: Predictions, combined: Predictions, targets: NDArray[Any], *, best_member: int, seed: int
) -> Comparison:
    """Values (members, rows, outputs) and (rows, outputs), targets (rows, outputs)."""
    errors, best_errors = squared_errors(combined, targets), squared_errors(predictions[best_member], targets)
    return Comparison(
        metric="rmse",
        difference=float(np.sqrt(errors.mean()) - np.sqrt(best_errors.mean())),
        difference_ci95=rmse_difference_ci95(errors, best_errors, seed),
        log_loss_difference=None,
        log_loss_difference_ci95=None,
        mcnemar=None,
        disagreement=_rows(value_disagreement(predictions)),
    )


def _rows(matrix: Figures) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix.tolist())


def mcnemar(ensemble: NDArray[np.bool_], best: NDArray[np.bool_]) -> McNemar:
    """McNemar's test (1947) on correctness (rows,) of both, with the continuity correction of Edwards (1948)."""
    one, other = int((ensemble & ~best).sum()), int((best & ~ensemble).sum())
    exact = one + other < FEW_DISCORDANT
    p_value = _binomial_p(one, other) if exact else _chi_square_p(one, other)
    return McNemar(one, other, exact, p_value)


def _binomial_p(one: int, other: int) -> float:
    """Two-sided binomial test of an even split."""
    tosses = one + other
    tail: float = sum(math.comb(tosses, heads) for heads in range(min(one, other) + 1)) / 2**tosses
    return min(1.0, 2 * tail)


def _chi_square_p(one: int, other: int) -> float:
    statistic = max(abs(one - other) - 1, 0) ** 2 / (one + other)
    return math.erfc(math.sqrt(statistic / 2))  # the tail of chi-square with one degree of freedom


def hits_difference_ci95(one: NDArray[np.bool_], other: NDArray[np.bool_], seed: int) -> Interval:
    """The 95 % bootstrap interval of mean(one) - mean(other) over paired resamples of rows.

    A row's difference is -1, 0 or 1, so that a resample is a multinomial draw of their counts.
    """
    difference = one.astype(np.int64) - other.astype(np.int64)
    rows = len(difference)
    shares = np.array([(difference == value).mean() for value in (-1, 0, 1)])
    drawn = np.random.default_rng(seed).multinomial(rows, shares, size=RESAMPLES)
    return _percentile_ci95((drawn[:, 2] - drawn[:, 0]) / rows)


def mean_difference_ci95(one: Figures, other: Figures, seed: int, *, block_draws: int = BLOCK_DRAWS) -> Interval:
    """The 95 % bootstrap interval of mean(one) - mean(other) over paired resamples, for example of log-losses."""
    return _percentile_ci95(_resampled_means((one - other)[:, None], seed, block_draws)[:, 0])


def rmse_difference_ci95(one: Figures, other: Figures, seed: int) -> Interval:
    """The 95 % bootstrap interval of the difference in RMSE, from squared errors (rows,)."""
    roots = np.sqrt(_resampled_means(np.stack([one, other], axis=1), seed))
    return _percentile_ci95(roots[:, 0] - roots[:, 1])


def _resampled_means(figures: Figures, seed: int, block_draws: int = BLOCK_DRAWS) -> Figures:
    """Means of (rows, columns) over 2,000 paired resamples of the rows, (resamples, columns)."""
    generator = np.random.default_rng(seed)
    rows = len(figures)
    block = max(1, block_draws // rows)
    means = [
        figures[generator.integers(0, rows, (min(block, RESAMPLES - start), rows))].mean(axis=1)
        for start in range(0, RESAMPLES, block)
    ]
    return np.concatenate(means)


def _percentile_ci95(figures: Figures) -> Interval:
    """The percentile interval (Efron & Tibshirani 1993, chapter 13)."""
    low, high = np.percentile(figures, [2.5, 97.5])
    return float(low), float(high)


def label_disagreement(predictions: Predictions) -> Figures:
    """The share of rows on which two members' labels differ: (members, rows, classes) to (members, members)."""
    labels = predictions.argmax(axis=2)
    return np.stack([(labels != one).mean(axis=1) for one in labels])


def value_disagreement(predictions: Predictions) -> Figures:
    """The root mean square of two members' difference: (members, rows, outputs) to (members, members)."""
    wide = predictions.astype(np.float64)
    return np.stack([np.sqrt(((wide - one) ** 2).mean(axis=(1, 2))) for one in wide])
