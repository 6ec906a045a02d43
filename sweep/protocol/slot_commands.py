"""Commands of the scheduler to a slot; scheduler and slot.

The slot executes `StartAttempt` and `StopAttempt` itself. It forwards a `TrialAnswer` to the trial process that waits
for it. A command for an attempt that the slot does not run has no effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podium.sweep.values.attempt_assignment import Assignment, AttemptKey, Scalar
from podium.sweep.values.failure_causes import Cause


@dataclass(frozen=True, slots=True)
class StartAttempt:
    """Run an attempt in a new process. A busy slot refuses any other attempt than the one it runs."""

    assignment: Assignment


@dataclass(frozen=True, slots=True)
class StopAttempt:
    """Ask the attempt to end, and kill it at the end of its grace period; without one if `at_once`."""

    key: AttemptKey
    cause: Cause
    at_once: bool = False
    message: str = ""


@dataclass(frozen=True, slots=True)
class PruneAnswer:
    """Whether the trial is to be pruned, based on its report at `step`."""

    key: AttemptKey
    step: int
    prune: bool


@dataclass(frozen=True, slots=True)
class SuggestAnswer:
    """The value of a suggested parameter that is not in the sweep file, or the reason why there is none."""

    key: AttemptKey
    name: str
    value: Scalar
    error: str = ""


@dataclass(frozen=True, slots=True)
class StudyAnswer:
    """The answer to a query of `trial.study`, or the reason why there is none."""

    key: AttemptKey
    request: int
    answer: dict[str, Any]
    error: str = ""


TrialAnswer = PruneAnswer | SuggestAnswer | StudyAnswer
SlotCommand = StartAttempt | StopAttempt | TrialAnswer

ANSWER_KINDS: dict[str, type[TrialAnswer]] = {
    "prune_answer": PruneAnswer,
    "suggest_answer": SuggestAnswer,
    "study_answer": StudyAnswer,
}
COMMAND_KINDS: dict[str, type[SlotCommand]] = {
    "start_attempt": StartAttempt,
    "stop_attempt": StopAttempt,
    **ANSWER_KINDS,
}
