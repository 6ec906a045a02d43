"""Which finished trials become members, by what they said of the validation rows; numpy only, api and host."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ensemble.spec import Task
from sweep.errors import EnsembleError

ROUNDS = 50  # of greedy: as many as there can be parts of a weight
DIVERSITY = 0.3  # how much disagreement counts beside a trial's own score
_TINY = np.finfo(np.float32).tiny
_BLOCK_VALUES = 4 << 20  # worked on at a time, so that memory does not grow with the number of trials

Predictions = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A finished trial that left a model."""

    trial_id: int
    number: int
    value: float


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

    def among(self, pool: Sequence[int]) -> Selection:
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
    seed: int = 0,
) -> Selection:
    """Forward selection with replacement (Caruana et al. 2004): the weights are how often each was chosen.

    From (candidates, rows, outputs) the best single one first, then always the one that lowers the loss of the mean
    most (log-loss, squared error for values), until `rounds` are over; the shortest of the best prefixes counts.
    No more than `k` different ones: once there are, only those are added. With `bags`, that is done on so many
    random halves of the candidates, and the counts are added up (section 2.3 there).
    Raises `EnsembleError` when there are fewer than `k` candidates.
    """
    _check_enough(len(predictions), k)
    loss = _loss_of(predictions, targets, task)
    everybody = np.arange(len(predictions))
    if not bags:
        return _counted(_forward(loss, everybody, k, rounds), k)
    chance = np.random.default_rng(seed)
    half = max(k, (len(predictions) + 1) // 2)
    paths = [_forward(loss, np.sort(chance.choice(everybody, half, replace=False)), k, rounds) for _ in range(bags)]
    return _counted([step for path in paths for step in path], k)


def diverse(predictions: Predictions, targets: NDArray[Any], *, k: int, task: Task) -> Selection:
    """The best first, then always the one with the best mix of its own score and disagreement with the chosen.

    Maximal marginal relevance (Carbonell & Goldstein 1998) with (1 - `DIVERSITY`) times the score, which is accuracy
    or R squared, plus `DIVERSITY` times the mean disagreement: the share of rows where labels differ, or for values
    1 - the correlation of the residuals. Raises `EnsembleError` when there are fewer than `k` candidates.
    """
    _check_enough(len(predictions), k)
    scores = _scores(predictions, targets, task)
    apart = np.zeros(len(predictions))
    chosen: list[int] = []
    path: list[Step] = []
    while len(chosen) < k:
        gain = scores if not chosen else (1 - DIVERSITY) * scores + DIVERSITY * apart / len(chosen)
        gain = gain.copy()
        gain[chosen] = -np.inf
        best = int(gain.argmax())
        chosen.append(best)
        path.append(Step(best, float(-gain[best])))
        apart += _disagreement(predictions, targets, best, task)
    return Selection(tuple(chosen), (1 / k,) * k, tuple(path))


def _check_enough(found: int, k: int) -> None:
    if found < k:
        raise EnsembleError(
            f"k is {k}, but only {found} finished trials of this sweep saved a model; lower k, or run more trials"
        )


class _Loss(Protocol):
    """The loss of a sum of predictions, divided by how many they are."""

    def after(self, total: NDArray[np.float64] | float, members: int, candidates: NDArray[np.intp]) -> NDArray[Any]:
        """Of `total` with each of the candidates added, (candidates,)."""

    def add(self, total: NDArray[np.float64] | float, candidate: int) -> NDArray[np.float64]: ...


class _LogLoss:
    """Only what a candidate gives the true class counts."""

    def __init__(self, predictions: Predictions, targets: NDArray[np.int64]) -> None:
        self._right = predictions[:, np.arange(len(targets)), targets].astype(np.float64)

    def after(self, total: NDArray[np.float64] | float, members: int, candidates: NDArray[np.intp]) -> NDArray[Any]:
        with_each = (total + self._right[candidates]) / (members + 1)
        return np.asarray(-np.log(np.maximum(with_each, _TINY)).mean(axis=1))

    def add(self, total: NDArray[np.float64] | float, candidate: int) -> NDArray[np.float64]:
        return np.asarray(total + self._right[candidate])


class _SquaredError:
    def __init__(self, predictions: Predictions, targets: NDArray[np.float32]) -> None:
        self._values = predictions.reshape(len(predictions), -1).astype(np.float64)
        self._targets = targets.reshape(-1).astype(np.float64)

    def after(self, total: NDArray[np.float64] | float, members: int, candidates: NDArray[np.intp]) -> NDArray[Any]:
        with_each = (total + self._values[candidates]) / (members + 1)
        return np.asarray(((with_each - self._targets) ** 2).mean(axis=1))

    def add(self, total: NDArray[np.float64] | float, candidate: int) -> NDArray[np.float64]:
        return np.asarray(total + self._values[candidate])


def _loss_of(predictions: Predictions, targets: NDArray[Any], task: Task) -> _Loss:
    return _LogLoss(predictions, targets) if task is Task.CLASSIFICATION else _SquaredError(predictions, targets)


def _forward(loss: _Loss, candidates: NDArray[np.intp], k: int, rounds: int) -> list[Step]:
    """The steps up to the best prefix; a tie goes to the shorter one, and to the candidate that comes first."""
    total: NDArray[np.float64] | float = 0.0
    path: list[Step] = []
    allowed = candidates
    for members in range(rounds):
        losses = _in_blocks(loss, total, members, allowed)
        best = int(allowed[losses.argmin()])
        path.append(Step(best, float(losses.min())))
        total = loss.add(total, best)
        if len({step.position for step in path}) == k:
            allowed = np.unique([step.position for step in path])
    shortest = min(range(len(path)), key=lambda length: (path[length].score, length))
    return path[: shortest + 1]


def _in_blocks(
    loss: _Loss, total: NDArray[np.float64] | float, members: int, candidates: NDArray[np.intp]
) -> NDArray[Any]:
    values = total.size if isinstance(total, np.ndarray) else 1 << 16
    size = max(1, _BLOCK_VALUES // max(1, values))
    blocks = [candidates[start : start + size] for start in range(0, len(candidates), size)]
    return np.concatenate([loss.after(total, members, block) for block in blocks])


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


def _disagreement(predictions: Predictions, targets: NDArray[Any], one: int, task: Task) -> NDArray[np.float64]:
    """Of each candidate with one of them."""
    if task is Task.CLASSIFICATION:
        labels = predictions.argmax(axis=2)
        return np.asarray((labels != labels[one]).mean(axis=1))
    residuals = (predictions - targets).reshape(len(predictions), -1).astype(np.float64)
    residuals -= residuals.mean(axis=1, keepdims=True)
    norms = np.maximum(np.linalg.norm(residuals, axis=1), _TINY)
    return np.asarray(1 - (residuals @ residuals[one]) / (norms * norms[one]))
