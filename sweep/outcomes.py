"""How an attempt ended, judged from what its process said and how it died; pure, in the slot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sweep.trial import Cause, TrialState


@dataclass(frozen=True, slots=True)
class ChildReport:
    """What the trial process said of itself, last. Raises `ValueError` for what `attempt` never says."""

    state: str
    value: float | None = None
    cause: str | None = None
    message: str = ""
    traceback: str = ""
    late_prune_answers: int = 0

    def __post_init__(self) -> None:
        if self.state not in ("finished", "pruned", "failed"):
            raise ValueError(f"no such outcome: {self.state!r}")
        if self.value is not None and not isinstance(self.value, float):
            raise ValueError(f"not a float: {self.value!r}")
        if self.cause is not None:
            Cause(self.cause)


def judge(report: ChildReport | None, exit: str, killed_for: Cause | None) -> dict[str, Any]:
    """The fields of `Ended` that say how it went.

    What the slot did to the process comes first, then how the process died, then what it said: a process that
    claims success and then crashes has still finished, since its result was complete.
    """
    if report is not None and report.state == "finished" and _finite(report.value):
        return _verdict(TrialState.FINISHED, report)
    if report is not None and report.state == "pruned":
        return _verdict(TrialState.PRUNED, report)
    if killed_for is Cause.CANCELLED:
        return {"state": TrialState.CANCELLED, "cause": Cause.CANCELLED, "message": "stopped on request"}
    if killed_for is not None:
        return _failure(killed_for, _KILL_MESSAGES.get(killed_for, f"killed: {killed_for}"))
    if report is not None:
        return {**_verdict(TrialState.FAILED, report), "value": None, "cause": Cause(report.cause or "bad_report")}
    if exit.startswith("SIG"):
        return _failure(Cause.SIGNAL, f"the process was ended by {exit}")
    return _failure(Cause.EXITED, f"the process exited with status {exit} before its function returned")


_KILL_MESSAGES = {
    Cause.TIMEOUT: "ran longer than limits.trial_s",
    Cause.STALLED: "said nothing for limits.silence_s",
    Cause.START_TIMEOUT: "did not reach user code within limits.start_s",
    Cause.INFRASTRUCTURE: "the fork server of its slot ended",
}


def _verdict(state: TrialState, report: ChildReport) -> dict[str, Any]:
    return {
        "state": state,
        "value": report.value,
        "message": report.message,
        "traceback": report.traceback,
        "late_prune_answers": report.late_prune_answers,
    }


def _failure(cause: Cause, message: str) -> dict[str, Any]:
    return {"state": TrialState.FAILED, "cause": cause, "message": message}


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
