"""How good an ensemble is, measured from predictions alone; numpy only, host and tests."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BOOTSTRAP_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Scores:
    """Of one predictor on one split."""

    accuracy: float
    log_loss: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An ensemble and its members on one split; the interval is of ensemble minus best member, in accuracy."""

    split: str
    rows: int
    ensemble: Scores
    members: tuple[Scores, ...]  # in member order
    best_member: int  # position of the best single network, chosen before this split was seen
    difference: float
    difference_ci95: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def evaluate(
    split: str,
    combined: NDArray[np.float32],
    members: NDArray[np.float32],
    targets: NDArray[np.int64],
    *,
    best_member: int = 0,
    seed: int = 0,
) -> Evaluation:
    """Score probabilities (rows, classes) and (members, rows, classes) against targets (rows,).

    The interval is the paired bootstrap's 2.5 and 97.5 percentiles (Efron & Tibshirani 1993, chapter 13).
    """
    ensemble_hits = combined.argmax(axis=1) == targets
    best_hits = members[best_member].argmax(axis=1) == targets
    low, high = bootstrap_ci95(ensemble_hits, best_hits, seed)
    return Evaluation(
        split=split,
        rows=len(targets),
        ensemble=_scores(combined, targets),
        members=tuple(_scores(member, targets) for member in members),
        best_member=best_member,
        difference=float(ensemble_hits.mean() - best_hits.mean()),
        difference_ci95=(low, high),
    )


def bootstrap_ci95(one: NDArray[np.bool_], other: NDArray[np.bool_], seed: int) -> tuple[float, float]:
    """The 95 % interval of mean(one) - mean(other) over rows drawn together with replacement.

    A row's difference is -1, 0 or 1, so a resample is a draw of how often each occurs.
    """
    difference = one.astype(np.int64) - other.astype(np.int64)
    rows = len(difference)
    shares = np.array([(difference == value).mean() for value in (-1, 0, 1)])
    drawn = np.random.default_rng(seed).multinomial(rows, shares, size=BOOTSTRAP_RESAMPLES)
    means = (drawn[:, 2] - drawn[:, 0]) / rows
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def _scores(probabilities: NDArray[np.float32], targets: NDArray[np.int64]) -> Scores:
    chosen = probabilities[np.arange(len(targets)), targets].astype(np.float64)
    return Scores(
        accuracy=float((probabilities.argmax(axis=1) == targets).mean()),
        log_loss=float(-np.log(np.clip(chosen, np.finfo(np.float64).tiny, 1)).mean()),
    )
