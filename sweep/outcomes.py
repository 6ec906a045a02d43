"""How an attempt ended, judged from what its process said and how it died; pure, in the slot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sweep.trial import Cause, TrialState

MAX_MESSAGE = 2000
MAX_TRACEBACK = 20_000


@dataclass(frozen=True, slots=True)
class ChildReport:
    """What the trial process said of itself, last. Raises `ValueError` for what `attempt` never says."""

    state: str
    value: float | None = None  # the first of `values`
    cause: str | None = None
    message: str = ""
    traceback: str = ""
    late_prune_answers: int = 0
    values: tuple[float, ...] | None = None  # one for each objective

    def __post_init__(self) -> None:
        if self.state not in ("finished", "pruned", "failed"):
            raise ValueError(f"no such outcome: {self.state!r}")
        values = (self.value,) if self.values is None and self.value is not None else tuple(self.values or ())
        if not all(isinstance(value, float) for value in values):
            raise ValueError(f"not floats: {values!r:.200}")
        object.__setattr__(self, "values", values or None)
        object.__setattr__(self, "value", values[0] if values else None)
        if self.cause is not None:
            Cause(self.cause)
        if not isinstance(self.message, str) or not isinstance(self.traceback, str):
            raise ValueError("a message and a traceback are texts")
        if not isinstance(self.late_prune_answers, int) or not 0 <= self.late_prune_answers < 2**31:
            raise ValueError(f"not a count: {self.late_prune_answers!r}")


@dataclass(frozen=True, slots=True)
class Kill:
    """Why the slot ended a process."""

    cause: Cause
    message: str = ""


def judge(
    report: ChildReport | None, exit: str, kill: Kill | None, *, out_of_memory: bool = False, objectives: int = 1
) -> dict[str, Any]:
    """The fields of `Ended` that say how it went.

    What the slot did to the process comes first, then how the process died, then what it said: a process that
    claims success and then crashes has still finished, since its result was complete. `out_of_memory` says that
    the kernel has killed something for memory meanwhile; `objectives` is how many values a result has.
    """
    if report is not None and report.state == "finished" and _complete(report.values, objectives):
        return _verdict(TrialState.FINISHED, report)
    if report is not None and report.state == "pruned":
        return _verdict(TrialState.PRUNED, report)
    if kill is not None and kill.cause is Cause.CANCELLED:
        return {"state": TrialState.CANCELLED, "cause": Cause.CANCELLED, "message": "stopped on request"}
    if kill is not None:
        return _failure(kill.cause, kill.message or _KILL_MESSAGES.get(kill.cause, f"killed: {kill.cause}"))
    if report is not None:
        return {
            **_verdict(TrialState.FAILED, report),
            "value": None,
            "values": None,
            "cause": Cause(report.cause or "bad_report"),
        }
    if exit == "SIGKILL" and out_of_memory:
        return _failure(Cause.HOST_MEMORY, "the kernel killed the process: the machine, or its cgroup, had no memory")
    if exit.startswith("SIG"):
        return _failure(Cause.SIGNAL, f"the process was ended by {exit}")
    return _failure(Cause.EXITED, f"the process exited with status {exit} before its function returned")


_KILL_MESSAGES = {
    Cause.TIMEOUT: "ran longer than limits.trial_s",
    Cause.STALLED: "said nothing for limits.silence_s",
    Cause.START_TIMEOUT: "did not reach user code within limits.start_s",
    Cause.INFRASTRUCTURE: "the fork server of its slot ended",
}


def over_quota(used_bytes: int, allowed_mb: float) -> str:
    """The message of `disk_quota`."""
    used_mb = used_bytes / (1 << 20)
    return f"its working and temporary directories took {used_mb:.0f} MB; limits.work_dir_mb allows {allowed_mb:g}"


def storable(text: str) -> str:
    """The text as every database and JSON reader takes it: no half surrogate pairs, no NUL."""
    return text.encode(errors="backslashreplace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def _verdict(state: TrialState, report: ChildReport) -> dict[str, Any]:
    return {
        "state": state,
        "value": report.value,
        "values": report.values,
        "message": storable(report.message[:MAX_MESSAGE]),
        "traceback": storable(report.traceback[-MAX_TRACEBACK:]),
        "late_prune_answers": report.late_prune_answers,
    }


def _failure(cause: Cause, message: str) -> dict[str, Any]:
    return {"state": TrialState.FAILED, "cause": cause, "message": message}


def _complete(values: tuple[float, ...] | None, objectives: int) -> bool:
    return values is not None and len(values) == objectives and all(math.isfinite(value) for value in values)
