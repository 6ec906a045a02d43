"""Pareto fronts: the results that no other result dominates. Pure; api and scheduler process."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def fronts(points: Sequence[Sequence[float]], goals: Sequence[str], at_least: int = 1) -> list[list[int]]:
    """Non-dominated sorting (Deb et al. 2002; here ENS-BS of Zhang et al. 2015): positions of `points`, front by front.

    A point has one value per goal (maximize or minimize). It dominates another if it is at least as good in all and
    better in one. No point dominates the first front, the Pareto front; only points of earlier fronts dominate the
    others. Returns the first fronts that together have `at_least` points. Equal points are in the same front.
    """
    costs = np.asarray(points, dtype=np.float64).reshape(len(points), len(goals))
    costs = costs * [-1.0 if goal == "maximize" else 1.0 for goal in goals]
    found: list[_Front] = []
    for position in np.lexsort(costs.T[::-1]).tolist():  # in this order, a later point never dominates an earlier one
        cost = costs[position]
        rank = bisect_left(found, True, key=lambda front, cost=cost: not front.beats(cost))  # type: ignore[misc]
        if rank == len(found):
            if found and at_least == 1:
                continue  # only the first front is needed
            found.append(_Front(len(goals)))
        found[rank].add(position, cost)
    enough = bisect_left(np.cumsum([len(front.positions) for front in found]), at_least) + 1
    return [sorted(front.positions) for front in found[:enough]]


class _Front:
    """Points that do not dominate each other; their costs in an array that grows."""

    def __init__(self, objectives: int) -> None:
        self.positions: list[int] = []
        self._costs = np.empty((16, objectives))

    def add(self, position: int, cost: NDArray[np.float64]) -> None:
        size = len(self.positions)
        if size == len(self._costs):
            self._costs = np.concatenate([self._costs, np.empty_like(self._costs)])
        self._costs[size] = cost
        self.positions.append(position)

    def beats(self, cost: NDArray[np.float64]) -> bool:
        """Whether one of them dominates a point that does not precede them in the sort order."""
        mine = self._costs[: len(self.positions)]
        no_worse = (mine <= cost).all(axis=1)
        return bool(no_worse.any() and (mine[no_worse] < cost).any())
