"""Computes how much of its budget a sweep has used, and which limit is reached. Pure; scheduler and api process.

The terms of a sweep are its current budget and target, as submitted or as extended since.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import Field

from podium.sweep.spec.budget import Budget, Plateau
from podium.sweep.spec.sweep_spec import SweepSpec


class BudgetTerms(Budget):
    """The budget of a sweep and its target; None means no limit."""

    target: float | None = Field(None, allow_inf_nan=False)

    @classmethod
    def of(cls, spec: SweepSpec) -> BudgetTerms:
        """The terms of a sweep as it was submitted."""
        return cls(**dict(spec.budget), target=spec.metric.target)

    @classmethod
    def read(cls, text: str) -> BudgetTerms:
        """The inverse of `to_json`."""
        return cls.model_validate_json(text)

    def to_json(self) -> str:
        """The terms as JSON; equal terms give equal strings."""
        return self.model_dump_json()

    def changed(self, given: BudgetTerms) -> BudgetTerms:
        """The terms with the fields that `given` sets."""
        return self.model_copy(update={name: getattr(given, name) for name in given.model_fields_set})


@dataclass(frozen=True, slots=True)
class CountedTrial:
    """A counted trial; `value` is None if it was pruned or violates a constraint."""

    number: int
    value: float | None


class BestValueTracker:
    """The best value of a sweep, trial by trial in the order in which they ended."""

    def __init__(self, goal: str, terms: BudgetTerms, outcomes: Iterable[CountedTrial] = ()) -> None:
        self._sign = 1.0 if goal == "maximize" else -1.0
        self._target = terms.target
        self._min_delta = terms.plateau.min_delta if terms.plateau else 0.0
        self.mark: CountedTrial | None = None  # the value to improve on
        self.trials_without_improvement = 0  # counted trials since the last improvement; none before the first value
        self.reached_by: CountedTrial | None = None  # the first that reached the target
        for outcome in outcomes:
            self.record(outcome)

    def record(self, outcome: CountedTrial) -> None:
        """Add a counted trial."""
        value = outcome.value
        if value is not None and self._improves(value):
            self.mark, self.trials_without_improvement = outcome, 0
        elif self.mark is not None:
            self.trials_without_improvement += 1
        if self.reached_by is None and value is not None and self._reaches(value):
            self.reached_by = outcome

    def _improves(self, value: float) -> bool:
        mark = None if self.mark is None else self.mark.value
        return mark is None or self._sign * (value - mark) > self._min_delta

    def _reaches(self, value: float) -> bool:
        return self._target is not None and self._sign * value >= self._sign * self._target


@dataclass(frozen=True, slots=True)
class BudgetUsage:
    """The budget used so far."""

    wall_s: float  # since the first trial started, without periods in which the sweep was finished
    device_s: float  # of all attempts, including running ones
    trials_without_improvement: int
    reached_by: CountedTrial | None


def exhausted_reason(terms: BudgetTerms, used: BudgetUsage) -> str:
    """The message for the limit that ends the sweep; "" if none is reached."""
    by = used.reached_by
    if by is not None and by.value is not None and terms.target is not None:
        return f"target {_number(terms.target)} reached by trial {by.number}: {_number(by.value)}"
    for name, taken, allowed in (
        ("device_s", used.device_s, terms.device_s),
        ("wall_s", used.wall_s, terms.wall_s),
    ):
        if allowed is not None and taken >= allowed:
            return f"budget.{name} of {_number(allowed)} s is spent"
    if terms.plateau is not None and used.trials_without_improvement >= terms.plateau.trials:
        return _plateau_text(terms.plateau)
    return ""


def continuation_advice(terms: BudgetTerms, used: BudgetUsage) -> str:
    """How to extend the budget so that the sweep can continue."""
    if used.reached_by is not None:
        return "give another target"
    if terms.device_s is not None and used.device_s >= terms.device_s:
        return f"raise budget.device_s above {_number(_round_up(used.device_s))}"
    if terms.wall_s is not None and used.wall_s >= terms.wall_s:
        return f"raise budget.wall_s above {_number(_round_up(used.wall_s))}"
    return f"raise budget.plateau.trials above {used.trials_without_improvement}"


def _plateau_text(plateau: Plateau) -> str:
    trials = "1 trial" if plateau.trials == 1 else f"{plateau.trials:,} trials"
    margin = f" by more than {_number(plateau.min_delta)}" if plateau.min_delta else ""
    return f"no better value{margin} in {trials}"


def _round_up(seconds: float) -> float:
    return math.ceil(seconds * 10) / 10


def _number(value: float) -> str:
    return f"{value:,.10g}"
