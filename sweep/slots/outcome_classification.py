"""Determines the outcome of an attempt from its process's last report and exit status. Pure; slot process."""

from __future__ import annotations

import math
import signal
from dataclasses import replace
from typing import Any

from podium.sweep.values.attempt_outcomes import (
    MAX_MESSAGE,
    MAX_TRACEBACK,
    Kill,
    ReducedResult,
    ReportedOutcome,
    exit_name,
    storable,
)
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import TrialState


def attempt_outcome(
    report: ReportedOutcome | None,
    exit_code: int,
    kill: Kill | None,
    *,
    out_of_memory: bool = False,
    objectives: int = 1,
    chosen: ReducedResult | None = None,
    finish_on_timeout: bool = False,
    has_constraints: bool = False,
) -> dict[str, Any]:
    """The fields of `Ended` that describe the outcome.

    A process that reports a complete result and then crashes has finished. Otherwise the slot's kill counts first, then
    the report, then the exit.

    Args:
        report: What the process reported last.
        exit_code: The exit status, or the negative number of the signal that terminated the process, as
            `subprocess.Popen.returncode`.
        kill: Why the slot killed the process.
        out_of_memory: The OOM killer was active meanwhile.
        objectives: The number of values of a result; 0 for a rank that has none.
        chosen: The result by the reports so far. If the trial has decided to end with it, it takes precedence over
            everything else; with `finish_on_timeout` it is the result at the time limit.
        finish_on_timeout: A trial that reaches its time limit finishes.
        has_constraints: The program has `constraints`; a trial that ends early without them fails, since it may be
            infeasible.
    """
    is_final = chosen is not None and bool(chosen.reason)
    has_finished = report is not None and report.state is TrialState.FINISHED
    if chosen is not None and is_final and (has_finished or not has_constraints):
        return _ended_early(chosen, report, objectives)
    if report is not None and report.state is TrialState.FINISHED and _complete(report.values, objectives):
        return _outcome_fields(TrialState.FINISHED, report)
    if report is not None and report.state is TrialState.WAITING and _complete(report.values, objectives):
        return _outcome_fields(TrialState.WAITING, report) | {"step": report.step}
    if report is not None and report.state is TrialState.PRUNED:
        return _outcome_fields(TrialState.PRUNED, report)
    if kill is not None and kill.cause is Cause.CANCELLED:
        return {"state": TrialState.CANCELLED, "cause": Cause.CANCELLED, "message": "stopped on request"}
    if kill is not None and kill.cause is Cause.TIMEOUT and (finish_on_timeout or is_final):
        return _timed_out(chosen, objectives, report, has_constraints=has_constraints)
    if kill is not None:
        return _failure(kill.cause, kill.message or _KILL_MESSAGES.get(kill.cause, f"killed: {kill.cause}"))
    if report is not None:
        return {
            **_outcome_fields(TrialState.CANCELLED if report.interrupted else TrialState.FAILED, report),
            "value": None,
            "values": None,
            "cause": report.cause or Cause.BAD_REPORT,
        }
    if exit_code == -signal.SIGKILL and out_of_memory:
        return _failure(Cause.HOST_MEMORY, "killed by the OOM killer: the machine or its cgroup ran out of memory")
    if exit_code < 0:
        return _failure(Cause.SIGNAL, f"the process was terminated by {exit_name(exit_code)}")
    return _failure(Cause.EXITED, f"the process exited with status {exit_name(exit_code)} before its function returned")


_KILL_MESSAGES = {
    Cause.TIMEOUT: "exceeded limits.trial_s",
    Cause.STALLED: "reported nothing for limits.silence_s",
    Cause.JOIN_TIMEOUT: "did not join the other ranks within limits.join_s",
    Cause.START_TIMEOUT: "did not start user code within limits.start_s",
    Cause.INFRASTRUCTURE: "the fork server of its slot terminated",
}


def _ended_early(chosen: ReducedResult, report: ReportedOutcome | None, objectives: int) -> dict[str, Any]:
    """A condition of `stop` was reached; the report of the process may have a remark."""
    if not _complete(chosen.values, objectives):
        reason = storable(chosen.reason[:MAX_MESSAGE])
        return _failure(Cause.BAD_REPORT, f"{reason}, but the trial had not reported its metric")
    finished = report is not None and report.state is TrialState.FINISHED
    outcome = report if report is not None and finished else ReportedOutcome(TrialState.FINISHED)
    return _outcome_fields(
        TrialState.FINISHED, replace(outcome, value=None, values=chosen.values, message=chosen.reason)
    )


def _timed_out(
    chosen: ReducedResult | None, objectives: int, report: ReportedOutcome | None, *, has_constraints: bool
) -> dict[str, Any]:
    message = _KILL_MESSAGES[Cause.TIMEOUT] if chosen is None else chosen.reason or _KILL_MESSAGES[Cause.TIMEOUT]
    if chosen is None or not _complete(chosen.values, objectives):
        return _failure(Cause.TIMEOUT, f"{message}, without having reported its metric")
    if has_constraints and not chosen.constrained:
        why = f": {report.message}" if report is not None and report.message else " within limits.grace_s"
        return _failure(Cause.TIMEOUT, storable(f"{message}; program.constraints was not evaluated{why}"[:MAX_MESSAGE]))
    report = ReportedOutcome(
        TrialState.FINISHED, values=chosen.values, message=f"{message}; finished with the values reported before"
    )
    return _outcome_fields(TrialState.FINISHED, report)


def _outcome_fields(state: TrialState, report: ReportedOutcome) -> dict[str, Any]:
    message = "; ".join(filter(None, [report.message, report.remark]))
    return {
        "state": state,
        "value": report.value,
        "values": report.values,
        "message": storable(message[:MAX_MESSAGE]),
        "traceback": storable(report.traceback[-MAX_TRACEBACK:]),
        "late_prune_answers": report.late_prune_answers,
    }


def _failure(cause: Cause, message: str) -> dict[str, Any]:
    return {"state": TrialState.FAILED, "cause": cause, "message": message}


def _complete(values: tuple[float, ...] | None, objectives: int) -> bool:
    if objectives == 0:
        return True
    return values is not None and len(values) == objectives and all(math.isfinite(value) for value in values)
