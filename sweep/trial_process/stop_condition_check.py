"""Tracks the reports of a trial: its value, and whether a condition of `stop` ends it early; trial process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from podium.sweep.protocol.trial_messages import TrialMessage
from podium.sweep.spec.trial_stop_conditions import STEP, TRAINING_ITERATION
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.attempt_outcomes import ReducedResult, ReportedOutcome
from podium.sweep.values.errors import BadReportError
from podium.sweep.values.objective_reduction import ReportedValues
from podium.sweep.values.states import TrialState

MARGIN_S = 1.0  # for the work of the built-in loop after its last epoch


class TrialStopped(BaseException):
    """Raised by `report` and `log` when a condition of `stop` is met; `except Exception` does not catch it."""


class EarlyFinish:
    """Follows the reports of a trial, and decides when it ends. The slot has the decision before `TrialStopped`."""

    def __init__(self, assignment: Assignment, send: Callable[[TrialMessage], None], flush: Callable[[], None]) -> None:
        self._send = send
        self._flush = flush
        self._stop = assignment.stop
        self._assignment = assignment
        self._reported = self._without_reports()
        self._continued_at: int | None = None  # the last step that was reported before the checkpoint
        self._rule = assignment.objective
        self._limits = assignment.limits
        self._reported_counters: set[str] = set()  # counters of `stop` that the trial reports itself
        self._has_reported = False  # an objective, in this attempt
        self._steps = 0  # number of different steps
        self._last_step = -1
        begin = assignment.interval
        # Of the next value that a generator yields without a step; part of checkpoints.
        self.next_step = 0 if begin is None or begin.after_step is None else begin.after_step + 1
        self._met_at: int | None = None  # the step at which a condition was met
        self._raises = True
        self._started_s = self._epoch_started_s = time.monotonic()
        self._longest_epoch_s = 0.0
        self.reason = ""  # why the trial ends early
        self.decided = False  # the slot has received the decision

    def uses_metric(self, name: str) -> bool:
        """Whether a condition of `stop` names this metric."""
        return any(name == watched for watched, _ in self._stop)

    def before(self, step: int) -> None:
        """To be called before a report. Raises `TrialStopped` if a condition was met at an earlier step."""
        if self._met_at is not None and step > self._met_at:
            self._end()

    def record(self, step: int, values: Mapping[str, float]) -> None:
        """To be called after a report. Raises `TrialStopped` if a condition is met and the step has all objectives."""
        if not self._has_reported and any(name in values for name in self._assignment.objectives):
            self._has_reported = True
            if self._continued_at is not None and self._reported.precedes(step, values):
                self._forget()
        if step > self._last_step:
            self._steps, self._last_step = self._steps + 1, step
        self._reported.record(step, values)
        if self._met_at is None and (reason := self._reason_at(step, values)):
            self._met_at, self.reason = step, reason
        if self._met_at is not None and self._reported.complete_at(self._met_at):
            self._end()

    # Reports before a checkpoint, from which a later attempt continues.

    def state(self, report: tuple[int, Mapping[str, float]] | None = None) -> dict[str, Any]:
        """The reports so far, for a checkpoint. `report`: the step and the values of the next one, included."""
        reported, steps, last_step = self._reported, self._steps, self._last_step
        if report is not None:
            reported = self._without_reports()
            reported.restore(self._reported.state())
            step, values = int(report[0]), {str(name): float(value) for name, value in report[1].items()}
            reported.record(step, values)
            steps, last_step = steps + (step > last_step), max(step, last_step)
        return {
            "reported": reported.state(), "steps": steps, "last_step": last_step, "next_step": self.next_step,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """The program continues from a checkpoint: the reports before it count, unless it has reported already.

        If the first report is of an earlier step than the last of these, the program has started again: then they do
        not count. `state`: None if the checkpoint has none.
        """
        if state is None or self._has_reported:
            return
        self._reported.restore(state["reported"])
        self._continued_at = self._reported.last_step
        self._steps, self._last_step = state["steps"], state["last_step"]
        self.next_step = state.get("next_step", self.next_step)  # checkpoints of earlier versions have none

    def remark_on(self, values: tuple[float, ...]) -> str:
        """A remark on the returned values of an attempt that continued and reported nothing, if others were reported.

        It continued after the last epoch, so its loop had nothing to do: the values may be those with which variables
        were initialized. The built-in loop computes its result from the checkpoint.
        """
        before = self._reported.values
        if self._continued_at is None or self._has_reported or not self._raises or before is None:
            return ""
        if any(_are_close(values, each) for each in (before, self._reported.last_values or before)):
            return ""
        returned, reported = (", ".join(f"{value:.6g}" for value in each) for each in (values, before))
        return (
            f"continued after step {self._continued_at}, reported nothing, and returned {returned}, while {reported} "
            "was reported before: if the training loop sets the value, return nothing, or compute it after the loop"
        )

    def _without_reports(self) -> ReportedValues:
        """No reports, except for that before the first of an interval, which may have no further step."""
        found = ReportedValues(self._assignment.objectives, self._assignment.objective)
        begin = self._assignment.interval
        if begin is not None and begin.after_step is not None and begin.value is not None:
            found.record(begin.after_step, {self._assignment.metric: begin.value})
        return found

    def _forget(self) -> None:
        self._reported = self._without_reports()
        self._continued_at = None
        self._steps, self._last_step = 0, -1

    def reduced_values(self, last: Any) -> Any:
        """The result of a program that returned None or its last report, by the rule of `objective`."""
        found = self._reported.by_name
        if last is None:
            return found or None
        if not isinstance(last, Mapping):
            return last if self._rule == "last" or not found else found
        return {**found, **last} if self._rule == "last" else {**last, **found}

    def outcome(self) -> ReportedOutcome:
        """The outcome of a trial that ended early. Raises `BadReportError` without a value."""
        if (values := self._reported.values) is None:
            raise BadReportError(f"{self.reason}, but the trial had not reported its metric before")
        return ReportedOutcome(TrialState.FINISHED, values=values, message=self.reason)

    def end(self, reason: str) -> None:
        """End the trial as finished: its last interval has ended. Raises `TrialStopped`."""
        self.reason = reason
        self._end()

    @property
    def values(self) -> tuple[float, ...] | None:
        """The value of each objective by the reports so far; None while one is missing."""
        return self._reported.values

    def send_value(self, reason: str = "", *, constrained: bool = False) -> None:
        """Send the current value to the slot, which does not get every point of a long curve.

        Args:
            reason: Why the trial ends with this value; "" if it continues.
            constrained: `program.constraints` has been evaluated with this value.
        """
        self._send(ReducedResult(self._reported.values, reason, constrained))

    # For the built-in loop, which ends after an epoch by itself, so that it can save its model.

    def defer(self) -> None:
        """Do not raise `TrialStopped`: the caller checks `should_end`."""
        self._raises = False

    def should_end(self) -> bool:
        """To be called once per epoch: whether a condition is met, or another epoch would exceed the time limit."""
        now_s = time.monotonic()
        self._longest_epoch_s = max(self._longest_epoch_s, now_s - self._epoch_started_s)
        self._epoch_started_s = now_s
        limit_s = self._limits.trial_s if self._limits.on_timeout == "finish" else None
        ends_s = now_s - self._started_s + self._longest_epoch_s + MARGIN_S
        if not self.reason and limit_s is not None and ends_s > limit_s:
            self.reason = f"another epoch may exceed limits.trial_s ({limit_s:g} s)"
        return bool(self.reason)

    def _reason_at(self, step: int, values: Mapping[str, float]) -> str:
        for name, at in self._stop:
            if name in values:
                self._reported_counters.add(name)
                found: float = values[name]
            elif name in self._reported_counters:  # the value that the trial reports takes precedence
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
            self.send_value(self.reason)
            self.decided = True
            raise TrialStopped(self.reason)


def _are_close(values: Sequence[float], others: Sequence[float]) -> bool:
    """Whether a computation again may have given these values instead of the others."""
    return all(math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-9) for one, other in zip(values, others, strict=True))
