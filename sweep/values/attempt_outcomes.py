"""What a trial process reports of its attempt, and why a slot kills it; slot and trial process."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import TrialState

MAX_MESSAGE = 2000
MAX_TRACEBACK = 20_000
REPORTED_STATES = frozenset({TrialState.FINISHED, TrialState.PRUNED, TrialState.FAILED, TrialState.WAITING})


@dataclass(frozen=True, slots=True)
class ReportedOutcome:
    """The final report of a trial process. Raises `ValueError` if it is malformed."""

    state: TrialState  # one of `REPORTED_STATES`; waiting: for the next interval
    value: float | None = None  # the first of `values`
    cause: Cause | None = None
    message: str = ""  # the error, or why the trial ended early
    remark: str = ""  # about a trial that counts, in addition to `message`
    traceback: str = ""
    late_prune_answers: int = 0
    values: tuple[float, ...] | None = None  # one for each objective
    interrupted: bool = False  # the failure is not the trial's: the data disk was full
    step: int | None = None  # at which an interval of training ended

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", TrialState(self.state))
        if self.state not in REPORTED_STATES:
            raise ValueError(f"unknown state: {self.state!r}")
        values = (self.value,) if self.values is None and self.value is not None else tuple(self.values or ())
        if not all(isinstance(value, float) for value in values):
            raise ValueError(f"not floats: {values!r:.200}")
        object.__setattr__(self, "values", values or None)
        object.__setattr__(self, "value", values[0] if values else None)
        if self.cause is not None:
            object.__setattr__(self, "cause", Cause(self.cause))
        if not all(isinstance(text, str) for text in (self.message, self.remark, self.traceback)):
            raise ValueError("message, remark and traceback must be strings")
        if not isinstance(self.interrupted, bool):
            raise ValueError(f"not a boolean: {self.interrupted!r:.200}")
        if self.step is not None and not (type(self.step) is int and 0 <= self.step < 2**63):
            raise ValueError(f"not a step: {self.step!r:.200}")
        if not isinstance(self.late_prune_answers, int) or not 0 <= self.late_prune_answers < 2**31:
            raise ValueError(f"not a count: {self.late_prune_answers!r}")


@dataclass(frozen=True, slots=True)
class ReducedResult:
    """The result of a trial according to its reports so far. If `reason` is set, the trial ends with it. Raises
    `ValueError`.
    """

    values: tuple[float, ...] | None  # one for each objective
    reason: str = ""
    constrained: bool = False  # whether `program.constraints` has been evaluated

    def __post_init__(self) -> None:
        values = tuple(self.values or ())
        if not all(isinstance(value, float) for value in values) or not isinstance(self.reason, str):
            raise ValueError(f"not floats and a reason: {values!r:.200}")
        if not isinstance(self.constrained, bool):
            raise ValueError(f"not a boolean: {self.constrained!r:.200}")
        object.__setattr__(self, "values", values or None)


@dataclass(frozen=True, slots=True)
class Kill:
    """Why the slot killed a process."""

    cause: Cause
    message: str = ""


def exit_name(exit_code: int) -> str:
    """An exit code as text: `0`, `3`, `SIGKILL`; `SIG35` for a signal without a name."""
    if exit_code >= 0:
        return str(exit_code)
    return signal.Signals(-exit_code).name if -exit_code in set(signal.Signals) else f"SIG{-exit_code}"


def over_quota(used_bytes: int, allowed_mb: float) -> str:
    """The message of `Cause.DISK_QUOTA`."""
    used_mb = used_bytes / (1 << 20)
    return f"working and temporary directories use {used_mb:.0f} MB, more than limits.work_dir_mb ({allowed_mb:g})"


def storable(text: str) -> str:
    """The text without lone surrogates and NUL, which databases and JSON parsers reject."""
    return text.encode(errors="backslashreplace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
