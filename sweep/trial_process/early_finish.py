"""Ends a trial early, as finished, when a condition of `stop` is reached; trial process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from podium.sweep.spec.stop_conditions import STEP, TRAINING_ITERATION
from podium.sweep.values.errors import BadReportError
from podium.sweep.values.objective_reduction import ReportedValues
from podium.sweep.values.trial import Assignment

MARGIN_S = 1.0  # for what the built-in loop does after its last epoch


class TrialStopped(BaseException):
    """Raised in `report` or `log` when the trial has reached a condition of `stop`; no error for `except Exception`."""


class Ending:
    """What a trial has reported, and whether that ends it. The slot has the decision before the exception is raised."""

    def __init__(self, assignment: Assignment, send: Callable[..., None], flush: Callable[[], None]) -> None:
        self._send = send
        self._flush = flush
        self._stop = assignment.stop
        self._reported = ReportedValues(assignment.objectives, assignment.objective)
        self._rule = assignment.objective
        self._limits = assignment.limits
        self._counters: set[str] = set()  # names of `stop` that were reported as metrics
        self._steps = 0  # how many different steps were reported
        self._last_step = -1
        self._reached_at: int | None = None  # the step at which a condition was reached
        self._raises = True
        self._began_s = self._looked_s = time.monotonic()
        self._longest_s = 0.0
        self.reason = ""  # why it ends early
        self.decided = False  # whether the slot has been told that the trial ends with what it has

    def watches(self, name: str) -> bool:
        """Whether a condition of `stop` names this metric."""
        return any(name == watched for watched, _ in self._stop)

    def before(self, step: int) -> None:
        """Something of a step is about to be reported. Raises `TrialStopped` if an earlier one was to be the last."""
        if self._reached_at is not None and step > self._reached_at:
            self._end()

    def note(self, step: int, values: Mapping[str, float]) -> None:
        """Something was reported. Raises `TrialStopped` at a condition, once every objective of the step is known."""
        if step > self._last_step:
            self._steps, self._last_step = self._steps + 1, step
        self._reported.note(step, values)
        if self._reached_at is None and (reason := self._reached(step, values)):
            self._reached_at, self.reason = step, reason
        if self._reached_at is not None and self._reported.complete_at(self._reached_at):
            self._end()

    def chosen(self, last: Any) -> Any:
        """The result of a program that returned nothing, or only its last report: by the rule of `objective`."""
        found = self._reported.by_name
        if last is None:
            return found or None
        if self._rule == "last" or not found:
            return last
        return {**last, **found} if isinstance(last, Mapping) else found

    def outcome(self) -> dict[str, Any]:
        """The outcome of a trial that was ended by `TrialStopped`. Raises `BadReportError` without a value."""
        if (values := self._reported.values) is None:
            raise BadReportError(f"{self.reason}, but the trial had not reported its metric before")
        return {"state": "finished", "values": values, "message": self.reason}

    @property
    def values(self) -> tuple[float, ...] | None:
        """The value of each objective by what was reported so far; None while one is missing."""
        return self._reported.values

    def tell(self, reason: str = "", *, constrained: bool = False) -> None:
        """Send the value that the trial has now: the slot's own account leaves out points of long curves.

        `constrained`: its `program.constraints` have been evaluated with this value.
        """
        self._send(kind="chosen", values=self._reported.values, reason=reason, constrained=constrained)

    # For the built-in loop, which ends itself after an epoch, so that its model is kept.

    def defer(self) -> None:
        """From now on nothing is raised: who reports asks `should_end`."""
        self._raises = False

    def should_end(self) -> bool:
        """To be asked once an epoch: whether a condition is reached, or another epoch would be over the time limit."""
        now_s = time.monotonic()
        self._longest_s, self._looked_s = max(self._longest_s, now_s - self._looked_s), now_s
        limit_s = self._limits.trial_s if self._limits.on_timeout == "finish" else None
        ends_s = now_s - self._began_s + self._longest_s + MARGIN_S
        if not self.reason and limit_s is not None and ends_s > limit_s:
            self.reason = f"another epoch may take longer than limits.trial_s ({limit_s:g} s) allows"
        return bool(self.reason)

    def _reached(self, step: int, values: Mapping[str, float]) -> str:
        for name, at in self._stop:
            if name in values:
                self._counters.add(name)
                found: float = values[name]
            elif name in self._counters:  # what the trial reports under that name counts, not our own count
                continue
            elif name == STEP:
                found = step
            elif name == TRAINING_ITERATION:
                found = max(step, self._steps)
            else:
                continue
            if found >= at:
                return f"stop: {name} {found:g} reached {at:g}"
        return ""

    def _end(self) -> None:
        if self._raises:
            self._flush()
            self.tell(self.reason)
            self.decided = True
            raise TrialStopped(self.reason)
