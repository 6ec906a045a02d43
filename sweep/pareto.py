"""Which of several results are beaten by none, where there are several objectives; pure, db."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def fronts(points: Sequence[Sequence[float]], goals: Sequence[str], at_least: int = 1) -> list[list[int]]:
    """Non-dominated sorting (Deb et al. 2002, NSGA-II, section III A): positions of `points`, front by front.

    A point (one value for each of `goals`, maximize or minimize) dominates another that it is at least as good as in
    all and better than in one. The first front, the Pareto front, is dominated by none; each next one by those before
    alone. No more are made as soon as `at_least` points are in some. Equal points are in the same front.
    """
    costs = np.asarray(points, dtype=np.float64).reshape(len(points), len(goals))
    costs = costs * [-1.0 if goal == "maximize" else 1.0 for goal in goals]
    left = np.lexsort(costs.T[::-1])  # by the first objective, then the next: a later point dominates no earlier one
    found: list[list[int]] = []
    while left.size and sum(map(len, found)) < at_least:
        beaten = _beaten(costs[left])
        found.append(sorted(left[~beaten].tolist()))
        left = left[beaten]
    return found


def _beaten(costs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows are dominated by an earlier one; the rows are sorted, and less is better."""
    front, size = np.empty_like(costs), 0
    beaten = np.zeros(len(costs), dtype=np.bool_)
    for index, cost in enumerate(costs):
        no_worse = (front[:size] <= cost).all(axis=1)
        beaten[index] = bool((no_worse & (front[:size] < cost).any(axis=1)).any())
        if not beaten[index]:
            front[size] = cost
            size += 1
    return beaten
