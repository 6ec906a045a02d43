"""Evaluates an ensemble with missing members, and finds a safe quorum; numpy only, host process."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.scoring.combine import combine
from podium.ensemble.scoring.scores import Predictions, hits, log_losses, squared_errors
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Task

EVERY_SUBSET_UP_TO = 10  # members: 1,023 subsets
SUBSETS_PER_SIZE = 64  # per size, if there are more members
SUBSETS = 2048  # in total, approximately

ROUNDING = 1e-6  # relative; in float32, the mean of equal predictions is not exact
HIGHER_IS_BETTER = {"accuracy": True, "log_loss": False, "rmse": False}
Scores = dict[str, float]  # accuracy and log_loss, or rmse


@dataclass(frozen=True, slots=True)
class SubsetScores:
    """The scores of the ensemble if exactly these members, by position, answer."""

    answered: tuple[int, ...]
    scores: Scores


@dataclass(frozen=True, slots=True)
class SizeScores:
    """Scores over the subsets of one size; `worst` is the worst of each score, not of one subset."""

    answered: int
    subsets: int
    every_subset: bool  # otherwise a sample, whose worst may be better than the true worst
    worst: Scores
    mean: Scores


@dataclass(frozen=True, slots=True)
class Degradation:
    """Scores by number of members that answer, from 1 to all."""

    sizes: tuple[SizeScores, ...]
    subsets: tuple[SubsetScores, ...]
    safe_quorum: int | None  # None: the whole ensemble is worse than the best member


def degradation(
    combination: Combination,
    predictions: Predictions,
    targets: NDArray[Any],
    *,
    best_member: int,
    seed: int,
) -> Degradation:
    """Combine predictions (members, rows, outputs) for every subset of members, as the gateway does, and score them."""
    scored = []
    for answered in subsets(len(predictions), seed):
        combined = combine(combination, predictions[list(answered)], answered)
        scored.append(SubsetScores(answered, scores_of(combination.task, combined, targets)))
    sizes = tuple(_size(size, len(predictions), scored) for size in range(1, len(predictions) + 1))
    best = scores_of(combination.task, predictions[best_member], targets)
    return Degradation(sizes, tuple(scored), safe_quorum(sizes, best))


def safe_quorum(sizes: Sequence[SizeScores], best: Scores) -> int | None:
    """The smallest quorum for which no subset is worse than the best member, in accuracy or RMSE.

    The worst subset decides, not the mean: missing members are not a random sample but the same crashed or slow ones
    for hours. A quorum of q allows all larger subsets too, so all sizes from q must be safe. `best` are the scores of
    the member that was best before this split was used: the alternative to the ensemble.
    """
    figure = next(iter(best))
    safe = None
    for size in reversed(sizes):
        if not _no_worse(figure, size.worst[figure], best[figure]):
            break
        safe = size.answered
    return safe


def subsets(members: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Subsets of member positions, ascending, by size: all of them or a sample of each size."""
    generator = np.random.default_rng(seed)
    for size in range(1, members + 1):
        wanted = subsets_of_size(members, size)
        if wanted == math.comb(members, size):
            yield from combinations(range(members), size)
        else:
            yield from _sample(generator, members, size, wanted)


def subsets_of_size(members: int, size: int) -> int:
    """Number of subsets of this size that are evaluated."""
    every = math.comb(members, size)
    if members <= EVERY_SUBSET_UP_TO:
        return every
    return min(every, SUBSETS_PER_SIZE, max(1, SUBSETS // members))


def scores_of(task: Task, outputs: Predictions, targets: NDArray[Any]) -> Scores:
    """The scores by which predictors are ranked, for outputs (rows, outputs)."""
    if task is Task.REGRESSION:
        return {"rmse": float(np.sqrt(squared_errors(outputs, targets).mean()))}
    return {"accuracy": float(hits(outputs, targets).mean()), "log_loss": float(log_losses(outputs, targets).mean())}


def _sample(generator: np.random.Generator, members: int, size: int, wanted: int) -> list[tuple[int, ...]]:
    """A uniform sample of different subsets."""
    found: set[tuple[int, ...]] = set()
    while len(found) < wanted:
        found.add(tuple(sorted(generator.choice(members, size, replace=False).tolist())))
    return sorted(found)


def _size(size: int, members: int, scored: Sequence[SubsetScores]) -> SizeScores:
    of_size = [subset.scores for subset in scored if len(subset.answered) == size]
    figures = {figure: [scores[figure] for scores in of_size] for figure in of_size[0]}
    return SizeScores(
        answered=size,
        subsets=len(of_size),
        every_subset=len(of_size) == math.comb(members, size),
        worst={figure: _worst(figure, values) for figure, values in figures.items()},
        mean={figure: math.fsum(values) / len(values) for figure, values in figures.items()},
    )


def _no_worse(figure: str, one: float, other: float) -> bool:
    better = one >= other if HIGHER_IS_BETTER[figure] else one <= other
    return better or math.isclose(one, other, rel_tol=ROUNDING)


def _worst(figure: str, values: Sequence[float]) -> float:
    return min(values) if HIGHER_IS_BETTER[figure] else max(values)
