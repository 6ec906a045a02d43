"""Which epoch of the fit loop was the best, and what was measured in it; pure, trial process."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from podium.sweep.spec import catalog
from podium.sweep.spec.catalog import Task


class BestEpoch:
    """Judged by the first of the objectives; the results are of all of them."""

    def __init__(self, task: Task, objectives: Sequence[str]) -> None:
        self._first = objectives[0]
        self._objectives = objectives
        self._sign = -1.0 if catalog.METRICS[task][self._first] == "minimize" else 1.0
        self.epoch = -1
        self.results: dict[str, float] = {}

    def improved(self, epoch: int, measured: Mapping[str, float]) -> bool:
        """Whether this epoch is better than all before; then it is the best."""
        so_far = self._sign * self.results[self._first] if self.results else -math.inf
        if not self._sign * measured[self._first] > so_far:  # NaN is not
            return False
        self.epoch, self.results = epoch, {name: measured[name] for name in self._objectives}
        return True

    def to_dict(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {"epoch": self.epoch, "results": self.results}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `to_dict` gave."""
        self.epoch, self.results = state["epoch"], dict(state["results"])
