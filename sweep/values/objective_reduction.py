"""Reduces the reported values of a trial to its result: last, min or max; trial process and slot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

LAST, MIN, MAX = "last", "min", "max"


class ReportedValues:
    """Tracks the objectives of a trial. With several, the first one selects the step that counts."""

    def __init__(self, objectives: Sequence[str], rule: str) -> None:
        self._objectives = tuple(objectives)
        self._rule = rule
        self._last: dict[str, float] = {}
        self._steps: dict[str, int] = {}  # of the last value of each objective
        self._chosen: dict[str, float] = {}
        self._chosen_step: int | None = None

    def record(self, step: int, values: Mapping[str, float]) -> None:
        """Record the metrics of a step; non-finite values and other metrics are ignored."""
        own = {name: values[name] for name in self._objectives if name in values and math.isfinite(values[name])}
        self._last |= own
        self._steps |= dict.fromkeys(own, step)
        first = self._objectives[0]
        if first in own and self._is_better(own[first]):
            self._chosen_step, self._chosen = step, dict(self._last)
        elif step == self._chosen_step:
            self._chosen |= {name: value for name, value in own.items() if name != first}
        else:
            self._chosen = own | self._chosen

    @property
    def last_step(self) -> int:
        """The last step with a value of an objective; -1 before the first one."""
        return max(self._steps.values(), default=-1)

    def precedes(self, step: int, values: Mapping[str, float]) -> bool:
        """Whether these are of an earlier step than the last value of the same objective."""
        return any(step < self._steps.get(name, -1) for name in self._objectives if name in values)

    def state(self) -> dict[str, Any]:
        """For a checkpoint: plain values from which `restore` continues."""
        return {
            "last": dict(self._last),
            "steps": dict(self._steps),
            "chosen": dict(self._chosen),
            "chosen_step": self._chosen_step,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from the state of an earlier attempt with the same objectives and rule."""
        self._last, self._steps, self._chosen = dict(state["last"]), dict(state["steps"]), dict(state["chosen"])
        self._chosen_step = state["chosen_step"]

    def complete_at(self, step: int) -> bool:
        """Whether each objective has a value of this step or a later one."""
        return all(self._steps.get(name, -1) >= step for name in self._objectives)

    @property
    def by_name(self) -> dict[str, float]:
        """The current result of each reported objective."""
        return dict(self._last if self._rule == LAST else self._chosen)

    @property
    def values(self) -> tuple[float, ...] | None:
        """The result for each objective, in order; None while one is missing."""
        return self._in_order(self.by_name)

    @property
    def last_values(self) -> tuple[float, ...] | None:
        """The last value of each objective, in order; None while one is missing."""
        return self._in_order(self._last)

    def _in_order(self, found: Mapping[str, float]) -> tuple[float, ...] | None:
        return tuple(found[name] for name in self._objectives) if len(found) == len(self._objectives) else None

    def _is_better(self, value: float) -> bool:
        before = self._chosen.get(self._objectives[0]) if self._chosen_step is not None else None
        if before is None:
            return True
        return value < before if self._rule == MIN else value > before
