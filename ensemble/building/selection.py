"""Which finished trials become members, by what they said of the validation rows; numpy only, api and host."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.values.ensemble_spec import Task
from podium.sweep.values.errors import EnsembleError

ROUNDS = 50  # of greedy: as many as there can be parts of a weight
DIVERSITY = 0.3  # how much disagreement counts beside a trial's own score
_TINY = np.finfo(np.float32).tiny
_ROUNDING = 1e-12  # of a loss; sums of the same predictions in another order differ by less
_BLOCK_VALUES = 4 << 20  # worked on at a time, so that memory does not grow with the number of trials

Predictions = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A finished trial that left a model."""

    trial_id: int
    number: int
    value: float


class Score(StrEnum):
    """By what greedy judges an ensemble; of all of them less is better."""

    LOG_LOSS = "log_loss"
    ERROR_RATE = "error_rate"  # 1 - accuracy
    SQUARED_ERROR = "squared_error"


_DEFAULT_SCORE = {Task.CLASSIFICATION: Score.LOG_LOSS, Task.REGRESSION: Score.SQUARED_ERROR}


@dataclass(frozen=True, slots=True)
class Step:
    """One choice on the way: which candidate, and how the ensemble scored with it (a loss: lower is better)."""

    position: int
    score: float


@dataclass(frozen=True, slots=True)
class Selection:
    """The members as positions among the candidates, in member order, with weights that sum to 1."""

    chosen: tuple[int, ...]
    weights: tuple[float, ...]
    path: tuple[Step, ...] = ()
    note: str = ""

    def reindexed(self, pool: Sequence[int]) -> Selection:
        """The same, where the candidates were those at the positions in `pool`."""
        path = tuple(Step(pool[step.position], step.score) for step in self.path)
        return replace(self, chosen=tuple(pool[position] for position in self.chosen), path=path)


def top_k(candidates: Sequence[Candidate], k: int, goal: str) -> Selection:
    """The `k` best by the sweep's metric, best first; ties go to the earlier trial, NaN never stands.

    Raises `EnsembleError` when there are fewer than `k`.
    """
    valid = [position for position, c in enumerate(candidates) if not math.isnan(c.value)]
    _check_enough(len(valid), k)
    sign = -1.0 if goal == "maximize" else 1.0
    chosen = sorted(valid, key=lambda p: (sign * candidates[p].value, candidates[p].number))[:k]
    return Selection(tuple(chosen), (1 / k,) * k)


def greedy(
    predictions: Predictions,
    targets: NDArray[Any],
    *,
    k: int,
    task: Task,
    bags: int = 0,
    rounds: int = ROUNDS,
    score: Score | None = None,
    seed: int = 0,
) -> Selection:
    """Forward selection with replacement (Caruana et al. 2004): the weights are how often each was chosen.

    From (candidates, rows, outputs) the best single one first, then always the one that lowers the loss of the mean
    most (`score`; by default log-loss, for values squared error), until `rounds` are over; the shortest of the best
    prefixes counts, and a tie goes to the candidate that comes first. Predictions that are not finite never stand.
    No more than `k` different ones: once there are, only those are added. With `bags`, that is done on so many
    random halves of the candidates, and the counts are added up (section 2.3 there).
    Raises `EnsembleError` when there are fewer than `k` candidates.
    """
    everybody = _finite(predictions, k)
    loss = _LOSSES[score or _DEFAULT_SCORE[task]](predictions, targets)
    if not bags:
        return _counted(_forward(loss, everybody, k, rounds), k)
    chance = np.random.default_rng(seed)
    half = max(k, (len(everybody) + 1) // 2)
    paths = [_forward(loss, np.sort(chance.choice(everybody, half, replace=False)), k, rounds) for _ in range(bags)]
    return _counted([step for path in paths for step in path], k)


def diverse(
    predictions: Predictions, targets: NDArray[Any], *, k: int, task: Task, diversity: float = DIVERSITY
) -> Selection:
    """The best first, then always the one with the best mix of its own score and disagreement with the chosen.

    Maximal marginal relevance (Carbonell & Goldstein 1998) with (1 - `diversity`) times the score, which is accuracy
    or R squared, plus `diversity` times the mean disagreement: the share of rows where labels differ, or for values
    1 - the correlation of the residuals. The path has this mix, negated. Ties go to the candidate that comes first;
    predictions that are not finite never stand. Raises `EnsembleError` when there are fewer than `k` candidates.
    """
    finite = _finite(predictions, k)
    if len(finite) < len(predictions):
        found = diverse(predictions[finite], targets, k=k, task=task, diversity=diversity)
        return found.reindexed([int(position) for position in finite])
    scores, distance = _scores(predictions, targets, task), _distance(predictions, targets, task)
    apart = np.zeros(len(predictions))
    path: list[Step] = []
    for already in range(k):
        gain = scores.copy() if not already else (1 - diversity) * scores + diversity * apart / already
        gain[[step.position for step in path]] = -np.inf
        best = _first_best(-gain)
        path.append(Step(best, float(-gain[best])))
        apart += distance(best)
    return Selection(tuple(step.position for step in path), (1 / k,) * k, tuple(path))


def finite_candidates(predictions: Predictions) -> NDArray[np.intp]:
    """The candidates whose predictions are all numbers."""
    return np.flatnonzero([np.isfinite(one).all() for one in predictions])


def _finite(predictions: Predictions, k: int) -> NDArray[np.intp]:
    _check_enough(len(predictions), k)
    found = finite_candidates(predictions)
    if len(found) < k:
        raise EnsembleError(
            f"k is {k}, but only {len(found)} of {len(predictions)} trials left predictions that are all finite; "
            "lower k, or run more trials"
        )
    return found


def _check_enough(found: int, k: int) -> None:
    if found < k:
        raise EnsembleError(
            f"k is {k}, but only {found} finished trials of this sweep saved a model; lower k, or run more trials"
        )


class _Loss(Protocol):
    """The loss of a sum of predictions, divided by how many they are; both methods are for many candidates at once."""

    values: NDArray[np.float64]  # (candidates, ...): what is summed

    def of(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """(several, ...) to (several,)."""


class _LogLoss:
    """Only what a candidate gives the true class counts."""

    def __init__(self, predictions: Predictions, targets: NDArray[np.int64]) -> None:
        self.values = predictions[:, np.arange(len(targets)), targets].astype(np.float64)

    def of(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(-np.log(np.maximum(means, _TINY)).mean(axis=1))


class _ErrorRate:
    """Classes whose sums differ by less than rounding are tied, and the first of them is the answer."""

    def __init__(self, predictions: Predictions, targets: NDArray[np.int64]) -> None:
        self.values = predictions.astype(np.float64)
        self._targets = targets

    def of(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((means.round(12).argmax(axis=2) != self._targets).mean(axis=1))


class _SquaredError:
    def __init__(self, predictions: Predictions, targets: NDArray[np.float32]) -> None:
        self.values = predictions.reshape(len(predictions), -1).astype(np.float64)
        self._targets = targets.reshape(-1).astype(np.float64)

    def of(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(((means - self._targets) ** 2).mean(axis=1))


_LOSSES: dict[Score, Callable[[Predictions, NDArray[Any]], _Loss]] = {
    Score.LOG_LOSS: _LogLoss,
    Score.ERROR_RATE: _ErrorRate,
    Score.SQUARED_ERROR: _SquaredError,
}


def _forward(loss: _Loss, candidates: NDArray[np.intp], k: int, rounds: int) -> list[Step]:
    """The steps up to the best prefix; a tie goes to the shorter one, and to the candidate that comes first."""
    total = np.zeros(loss.values.shape[1:])
    path: list[Step] = []
    allowed = candidates
    for members in range(rounds):
        losses = _with_each(loss, total, members, allowed)
        first = _first_best(losses)
        best = int(allowed[first])
        path.append(Step(best, float(losses[first])))
        total = total + loss.values[best]
        if len({step.position for step in path}) == k:
            allowed = np.unique([step.position for step in path])
    return path[: _first_best([step.score for step in path]) + 1]


def _first_best(losses: Sequence[float] | NDArray[np.float64]) -> int:
    """Where the first of the lowest losses is; losses that differ by no more than rounding are equal."""
    found = np.asarray(losses)
    return int(np.flatnonzero(found <= found.min() + _ROUNDING * abs(found.min()))[0])


def _with_each(
    loss: _Loss, total: NDArray[np.float64], members: int, candidates: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The loss after `total` of so many members with each of the candidates added, (candidates,)."""
    size = max(1, _BLOCK_VALUES // max(1, total.size))
    blocks = [candidates[start : start + size] for start in range(0, len(candidates), size)]
    return np.concatenate([loss.of((total + loss.values[block]) / (members + 1)) for block in blocks])


def _counted(path: Sequence[Step], k: int) -> Selection:
    """The candidates by how often they were chosen, at most `k`; among equals the one chosen first."""
    counts = Counter(step.position for step in path).most_common(k)
    total = sum(count for _, count in counts)
    note = "" if len(counts) == k else f"{len(counts)} of {k}: another member did not make the ensemble better"
    return Selection(
        tuple(position for position, _ in counts), tuple(count / total for _, count in counts), tuple(path), note
    )


def _scores(predictions: Predictions, targets: NDArray[Any], task: Task) -> NDArray[np.float64]:
    if task is Task.CLASSIFICATION:
        return np.asarray((predictions.argmax(axis=2) == targets).mean(axis=1))
    spread = np.maximum(((targets - targets.mean(axis=0)) ** 2).mean(), _TINY)
    return np.asarray(1 - ((predictions - targets) ** 2).mean(axis=(1, 2)) / spread)


def _distance(predictions: Predictions, targets: NDArray[Any], task: Task) -> Callable[[int], NDArray[np.float64]]:
    """How much each candidate disagrees with a given one."""
    if task is Task.CLASSIFICATION:
        labels = predictions.argmax(axis=2)
        return lambda one: np.asarray((labels != labels[one]).mean(axis=1))
    residuals = (predictions - targets).reshape(len(predictions), -1).astype(np.float64)
    residuals -= residuals.mean(axis=1, keepdims=True)
    residuals /= np.maximum(np.linalg.norm(residuals, axis=1, keepdims=True), _TINY)
    return lambda one: np.asarray(1 - residuals @ residuals[one])
