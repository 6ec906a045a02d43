"""What a live sweep may use and has used: its terms, its outcomes, its clocks; pure, scheduler."""

from __future__ import annotations

from collections.abc import Mapping

from podium.sweep.lifecycle.budget_usage import Outcome, Progress, Terms, Used, spent
from podium.sweep.lifecycle.state_changes import StoredSweep
from podium.sweep.spec.sweep_spec import SweepSpec


class Account:
    """Of one sweep. Times are monotonic, so that a clock that is set changes nothing."""

    def __init__(self, spec: SweepSpec, stored: StoredSweep, at: float, now_s: float) -> None:
        """As it is found at `at`, in seconds since the epoch, which is `now_s` on the monotonic clock."""
        self._goal = spec.metric.goal
        self._began_s = _began_s(stored, at, now_s)
        self._device_s = stored.device_s  # of attempts that have ended
        self._outcomes: list[Outcome] = []  # of what counts, in the order in which it ended
        self.spent = ""  # which part of the terms is, in words; see `look`
        self.set_terms(Terms.of(spec).to_json() if stored.terms is None else stored.terms)

    def set_terms(self, text: str) -> None:
        """What it may use from now on, as JSON."""
        self.text, self._terms = text, Terms.read(text)
        self._progress = Progress(self._goal, self._terms, self._outcomes)

    def begin(self, now_s: float) -> None:
        """An attempt starts; the first one begins it all."""
        self._began_s = now_s if self._began_s is None else self._began_s

    def charge(self, held_s: float, late_s: float) -> float:
        """An attempt is over that held its device for `held_s`, but for the last `late_s`; what it costs."""
        cost_s = max(0.0, held_s - max(0.0, late_s))
        self._device_s += cost_s
        return cost_s

    def note(self, number: int, value: float | None, constraints: Mapping[str, float]) -> None:
        """A trial counts; the value is None where it was pruned. It must violate no constraint."""
        violated = any(constraint > 0 for constraint in constraints.values())
        self._outcomes.append(Outcome(number, None if violated else value))
        self._progress.note(self._outcomes[-1])

    def used(self, running_s: float, now_s: float) -> Used:
        """What is used up to now; `running_s`: by what runs."""
        wall_s = 0.0 if self._began_s is None else now_s - self._began_s
        progress = self._progress
        return Used(wall_s, self._device_s + running_s, progress.still_trials, progress.reached_by)

    def look(self, running_s: float, now_s: float) -> None:
        """Note which part of the terms is spent; where they were extended, none may be any more."""
        self.spent = spent(self._terms, self.used(running_s, now_s))


def _began_s(stored: StoredSweep, at: float, now_s: float) -> float | None:
    """When the first trial started, monotonic, as if the sweep had never been over since."""
    if stored.started_at is None:
        return None
    until = at if stored.ended_at is None else stored.ended_at
    return now_s - max(0.0, until - stored.started_at - stored.over_s)
