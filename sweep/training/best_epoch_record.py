"""The best epoch of the training loop, and its metrics; pure, trial process."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from podium.sweep.spec import builtin_catalog
from podium.sweep.spec.builtin_catalog import Task


class BestEpoch:
    """The best epoch by the first objective, with the values of all objectives."""

    def __init__(self, task: Task, objectives: Sequence[str]) -> None:
        self._first = objectives[0]
        self._objectives = objectives
        self._sign = -1.0 if builtin_catalog.METRICS[task][self._first] == "minimize" else 1.0
        self.epoch = -1
        self.results: dict[str, float] = {}

    def improved(self, epoch: int, measured: Mapping[str, float]) -> bool:
        """Record an epoch; returns whether it is the best so far."""
        so_far = self._sign * self.results[self._first] if self.results else -math.inf
        if not self._sign * measured[self._first] > so_far:  # NaN is not
            return False
        self.set(epoch, measured)
        return True

    def set(self, epoch: int, measured: Mapping[str, float]) -> None:
        """Record an epoch as the best one."""
        self.epoch, self.results = epoch, {name: measured[name] for name in self._objectives}

    def to_dict(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        return {"epoch": self.epoch, "results": self.results}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state of `to_dict`."""
        self.epoch, self.results = state["epoch"], dict(state["results"])
