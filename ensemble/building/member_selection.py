"""Selects members from finished trials by their predictions on validation; api and host processes, numpy only."""

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

ROUNDS = 50  # greedy steps; weights are multiples of 1 / ROUNDS
DIVERSITY = 0.3  # weight of disagreement relative to a trial's own score
_TINY = np.finfo(np.float32).tiny
_ROUNDING = 1e-12  # relative; sums of the same predictions in another order differ by less
BLOCK_VALUES = 4 << 20  # per block, so that memory does not grow with the number of trials

Predictions = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A finished trial that saved a model."""

    trial_id: int
    number: int
    value: float


class Score(StrEnum):
    """The loss that greedy selection minimizes."""

    LOG_LOSS = "log_loss"
    ERROR_RATE = "error_rate"  # 1 - accuracy
    SQUARED_ERROR = "squared_error"


_DEFAULT_SCORE = {Task.CLASSIFICATION: Score.LOG_LOSS, Task.REGRESSION: Score.SQUARED_ERROR}


@dataclass(frozen=True, slots=True)
class Step:
    """One selection step: the candidate added, and the loss of the ensemble with it."""

    position: int
    score: float


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected candidates by position, in member order, with weights that sum to 1."""

    chosen: tuple[int, ...]
    weights: tuple[float, ...]
    path: tuple[Step, ...] = ()
    note: str = ""

    def reindexed(self, pool: Sequence[int]) -> Selection:
        """The same selection with positions mapped through `pool`."""
        path = tuple(Step(pool[step.position], step.score) for step in self.path)
        return replace(self, chosen=tuple(pool[position] for position in self.chosen), path=path)


def top_k(candidates: Sequence[Candidate], k: int, goal: str) -> Selection:
    """The `k` best candidates by the sweep's metric, best first; ties go to the earlier trial, NaN is never selected.

    Raises `EnsembleError` if there are fewer than `k`.
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
    block_values: int = BLOCK_VALUES,
) -> Selection:
    """Forward selection with replacement (Caruana et al. 2004); weights are proportional to the selection counts.

    `predictions` is (candidates, rows, outputs). Starts with the best candidate and repeatedly adds the one that lowers
    the loss of the mean most (`score`; default: log-loss, or squared error for regression), for `rounds` steps. Returns
    the shortest of the best prefixes; ties go to the first candidate. Candidates with non-finite predictions are
    excluded. Once `k` different candidates are selected, only those are added again. With `bags`, this is repeated on
    random halves of the candidates, and the counts are added (section 2.3 of the paper). `block_values` limits how
    many values are processed at once. Raises `EnsembleError` if there are fewer than `k` candidates.
    """
    everyone = _finite(predictions, k)
    loss = _LOSSES[score or _DEFAULT_SCORE[task]](predictions, targets)
    if not bags:
        return _counted(_forward(loss, everyone, k=k, rounds=rounds, block_values=block_values), k)
    rng = np.random.default_rng(seed)
    half = max(k, (len(everyone) + 1) // 2)
    halves = [np.sort(rng.choice(everyone, half, replace=False)) for _ in range(bags)]
    paths = [_forward(loss, candidates, k=k, rounds=rounds, block_values=block_values) for candidates in halves]
    return _counted([step for path in paths for step in path], k)


def diverse(
    predictions: Predictions, targets: NDArray[Any], *, k: int, task: Task, diversity: float = DIVERSITY
) -> Selection:
    """Select the best candidate, then repeatedly the one with the best mix of score and disagreement.

    Maximal marginal relevance (Carbonell & Goldstein 1998): (1 - `diversity`) times the score, which is accuracy or R
    squared, plus `diversity` times the mean disagreement with the selected candidates: the share of rows with different
    labels, or for regression 1 - the correlation of the residuals. The path holds the negated mix. Ties go to the first
    candidate; candidates with non-finite predictions are excluded. Raises `EnsembleError` if there are fewer than `k`
    candidates.
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
    """Positions of the candidates whose predictions are all finite."""
    return np.flatnonzero([np.isfinite(one).all() for one in predictions])


def _finite(predictions: Predictions, k: int) -> NDArray[np.intp]:
    _check_enough(len(predictions), k)
    found = finite_candidates(predictions)
    if len(found) < k:
        raise EnsembleError(
            f"k is {k}, but only {len(found)} of {len(predictions)} trials saved finite predictions; "
            "reduce k, or run more trials"
        )
    return found


def _check_enough(found: int, k: int) -> None:
    if found < k:
        raise EnsembleError(
            f"k is {k}, but only {found} finished trials of this sweep saved a model; reduce k, or run more trials"
        )


class _Loss(Protocol):
    """The loss of mean predictions, computed for many candidates at once."""

    values: NDArray[np.float64]  # (candidates, ...): what is summed

    def of(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """(several, ...) to (several,)."""


class _LogLoss:
    """Uses only the probability of the true class."""

    def __init__(self, predictions: Predictions, targets: NDArray[np.int64]) -> None:
        self.values = predictions[:, np.arange(len(targets)), targets].astype(np.float64)

    def of(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(-np.log(np.maximum(means, _TINY)).mean(axis=1))


class _ErrorRate:
    """Classes whose sums differ by less than rounding are tied; the first of them is predicted."""

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


def _forward(loss: _Loss, candidates: NDArray[np.intp], k: int, rounds: int, block_values: int) -> list[Step]:
    """The steps of the best prefix; ties go to the shorter prefix and to the first candidate."""
    total = np.zeros(loss.values.shape[1:])
    path: list[Step] = []
    allowed = candidates
    for members in range(rounds):
        losses = _with_each(loss, total, members=members, candidates=allowed, block_values=block_values)
        first = _first_best(losses)
        best = int(allowed[first])
        path.append(Step(best, float(losses[first])))
        total = total + loss.values[best]
        if len({step.position for step in path}) == k:
            allowed = np.unique([step.position for step in path])
    return path[: _first_best([step.score for step in path]) + 1]


def _first_best(losses: Sequence[float] | NDArray[np.float64]) -> int:
    """The index of the first minimum; losses that differ only by rounding are equal."""
    found = np.asarray(losses)
    return int(np.flatnonzero(found <= found.min() + _ROUNDING * abs(found.min()))[0])


def _with_each(
    loss: _Loss, total: NDArray[np.float64], members: int, candidates: NDArray[np.intp], block_values: int
) -> NDArray[np.float64]:
    """The loss (candidates,) of `total`, a sum over `members` members, with each candidate added."""
    size = max(1, block_values // max(1, total.size))
    blocks = [candidates[start : start + size] for start in range(0, len(candidates), size)]
    return np.concatenate([loss.of((total + loss.values[block]) / (members + 1)) for block in blocks])


def _counted(path: Sequence[Step], k: int) -> Selection:
    """The `k` candidates selected most often; ties go to the one selected first."""
    counts = Counter(step.position for step in path).most_common(k)
    total = sum(count for _, count in counts)
    note = "" if len(counts) == k else f"{len(counts)} of {k}: more members did not improve the ensemble"
    return Selection(
        tuple(position for position, _ in counts), tuple(count / total for _, count in counts), tuple(path), note
    )


def _scores(predictions: Predictions, targets: NDArray[Any], task: Task) -> NDArray[np.float64]:
    if task is Task.CLASSIFICATION:
        return np.asarray((predictions.argmax(axis=2) == targets).mean(axis=1))
    spread = np.maximum(((targets - targets.mean(axis=0)) ** 2).mean(), _TINY)
    return np.asarray(1 - ((predictions - targets) ** 2).mean(axis=(1, 2)) / spread)


def _distance(predictions: Predictions, targets: NDArray[Any], task: Task) -> Callable[[int], NDArray[np.float64]]:
    """A function that returns the disagreement of each candidate with a given one."""
    if task is Task.CLASSIFICATION:
        labels = predictions.argmax(axis=2)
        return lambda one: np.asarray((labels != labels[one]).mean(axis=1))
    residuals = (predictions - targets).reshape(len(predictions), -1).astype(np.float64)
    residuals -= residuals.mean(axis=1, keepdims=True)
    residuals /= np.maximum(np.linalg.norm(residuals, axis=1, keepdims=True), _TINY)
    return lambda one: np.asarray(1 - residuals @ residuals[one])
