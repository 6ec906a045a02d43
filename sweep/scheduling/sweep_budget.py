"""Tracks the budget of an unfinished sweep and its usage. Pure; scheduler process."""

from __future__ import annotations

from collections.abc import Mapping

from podium.sweep.lifecycle.budget_usage import (
    BestValueTracker,
    BudgetTerms,
    BudgetUsage,
    CountedTrial,
    exhausted_reason,
)
from podium.sweep.lifecycle.stored_sweeps import StoredSweep
from podium.sweep.spec.sweep_spec import SweepSpec


class SweepBudget:
    """The account of one sweep. Times are monotonic, so that a change of the wall clock has no effect."""

    def __init__(self, spec: SweepSpec, stored: StoredSweep, at: float, now_s: float) -> None:
        """Restore the stored account at `at` (seconds since the epoch), which is `now_s` on the monotonic clock."""
        self._goal = spec.metric.goal
        self._began_s = _began_s(stored, at, now_s)
        self._device_s = stored.device_s  # of ended attempts
        self._outcomes: list[CountedTrial] = []  # of counted trials, in the order in which they ended
        self.spent = ""  # the message for the limit that is reached; see `look`
        self.set_terms(BudgetTerms.of(spec).to_json() if stored.terms is None else stored.terms)

    def set_terms(self, text: str) -> None:
        """Set its limits, as JSON."""
        self.text, self._terms = text, BudgetTerms.read(text)
        self._progress = BestValueTracker(self._goal, self._terms, self._outcomes)

    def start(self, now_s: float) -> None:
        """Record the start of an attempt; the wall time runs from the first one."""
        self._began_s = now_s if self._began_s is None else self._began_s

    def charge(self, held_s: float, late_s: float) -> float:
        """Charge an attempt that occupied its device for `held_s`, of which the last `late_s` do not count; returns its
        device-seconds.
        """
        cost_s = max(0.0, held_s - max(0.0, late_s))
        self._device_s += cost_s
        return cost_s

    def record(self, number: int, value: float | None, constraints: Mapping[str, float]) -> None:
        """Add a counted trial; the value is None if it was pruned, and ignored if it violates a constraint."""
        violated = any(constraint > 0 for constraint in constraints.values())
        self._outcomes.append(CountedTrial(number, None if violated else value))
        self._progress.record(self._outcomes[-1])

    def used(self, running_s: float, now_s: float) -> BudgetUsage:
        """The usage so far; `running_s`: device-seconds of the running attempts."""
        wall_s = 0.0 if self._began_s is None else now_s - self._began_s
        progress = self._progress
        return BudgetUsage(wall_s, self._device_s + running_s, progress.trials_without_improvement, progress.reached_by)

    def update(self, running_s: float, now_s: float) -> None:
        """Update which limit is reached; after an extension, possibly none."""
        self.spent = exhausted_reason(self._terms, self.used(running_s, now_s))


def _began_s(stored: StoredSweep, at: float, now_s: float) -> float | None:
    """When the first trial started, on the monotonic clock, without periods in which the sweep was finished."""
    if stored.started_at is None:
        return None
    until = at if stored.ended_at is None else stored.ended_at
    return now_s - max(0.0, until - stored.started_at - stored.over_s)
