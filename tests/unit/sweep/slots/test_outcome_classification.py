"""The outcome of an attempt, from its report, its exit status, and the action of the slot."""

from __future__ import annotations

import math
import signal

import pytest

from podium.sweep.slots.outcome_classification import attempt_outcome
from podium.sweep.values.attempt_outcomes import Kill, ReducedResult, ReportedOutcome, storable
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import TrialState

FINISHED, PRUNED, FAILED, CANCELLED = TrialState.FINISHED, TrialState.PRUNED, TrialState.FAILED, TrialState.CANCELLED
DONE = ReportedOutcome(TrialState.FINISHED, 0.5)
GAVE_UP = ReportedOutcome(TrialState.PRUNED)
RAISED = ReportedOutcome(TrialState.FAILED, cause=Cause.USER_ERROR, message="ValueError: x", traceback="Traceback …")


@pytest.mark.parametrize(
    ("report", "exit_code", "killed_for", "state", "cause"),
    [
        (DONE, 0, None, FINISHED, None),
        (DONE, -signal.SIGSEGV, None, FINISHED, None),  # in the teardown: its result was complete
        (DONE, -signal.SIGKILL, Cause.TIMEOUT, FINISHED, None),
        (DONE, -signal.SIGKILL, Cause.CANCELLED, FINISHED, None),
        (GAVE_UP, 0, None, PRUNED, None),
        (GAVE_UP, -signal.SIGKILL, Cause.STALLED, PRUNED, None),
        (RAISED, 0, None, FAILED, Cause.USER_ERROR),
        (RAISED, -signal.SIGKILL, Cause.TIMEOUT, FAILED, Cause.TIMEOUT),
        (RAISED, 143, Cause.CANCELLED, CANCELLED, Cause.CANCELLED),
        (None, 143, Cause.CANCELLED, CANCELLED, Cause.CANCELLED),
        (None, -signal.SIGKILL, Cause.TIMEOUT, FAILED, Cause.TIMEOUT),
        (None, -signal.SIGKILL, Cause.STALLED, FAILED, Cause.STALLED),
        (None, -signal.SIGKILL, Cause.START_TIMEOUT, FAILED, Cause.START_TIMEOUT),
        (None, -signal.SIGKILL, Cause.INFRASTRUCTURE, FAILED, Cause.INFRASTRUCTURE),
        (None, -signal.SIGSEGV, None, FAILED, Cause.SIGNAL),
        (None, 0, None, FAILED, Cause.EXITED),
        (None, 3, None, FAILED, Cause.EXITED),
        (ReportedOutcome(TrialState.FINISHED, None), 0, None, FAILED, Cause.BAD_REPORT),
        (ReportedOutcome(TrialState.FINISHED, math.nan), 0, None, FAILED, Cause.BAD_REPORT),
        (ReportedOutcome(TrialState.FINISHED, math.inf), 0, None, FAILED, Cause.BAD_REPORT),
    ],
)
def test_outcome_follows_from_report_exit_and_kill(
    report: ReportedOutcome | None, exit_code: int, killed_for: Cause | None, state: TrialState, cause: Cause | None
) -> None:
    verdict = attempt_outcome(report, exit_code, None if killed_for is None else Kill(killed_for))
    assert (verdict["state"], verdict.get("cause")) == (state, cause)
    assert verdict.get("value") == (0.5 if state is FINISHED else None)


STOPPED = ReducedResult((0.5,), "stop: step 3 reached 3")
SO_FAR = ReducedResult((0.5,))


@pytest.mark.parametrize(
    ("chosen", "report", "exit_code", "killed_for", "state", "cause"),
    [
        (STOPPED, None, -signal.SIGKILL, None, FINISHED, None),  # killed after the decision
        (STOPPED, RAISED, 0, None, FINISHED, None),
        (STOPPED, ReportedOutcome(TrialState.FINISHED, 0.1), 0, None, FINISHED, None),
        (STOPPED, GAVE_UP, 0, None, FINISHED, None),
        (STOPPED, None, 143, Cause.CANCELLED, FINISHED, None),
        (ReducedResult(None, "stop: step 3 reached 3"), None, 0, None, FAILED, Cause.BAD_REPORT),
        (SO_FAR, None, -signal.SIGKILL, Cause.TIMEOUT, FINISHED, None),
        (SO_FAR, RAISED, "1", Cause.TIMEOUT, FINISHED, None),
        (SO_FAR, None, -signal.SIGKILL, Cause.CANCELLED, CANCELLED, Cause.CANCELLED),
        (SO_FAR, None, -signal.SIGKILL, Cause.STALLED, FAILED, Cause.STALLED),
        (SO_FAR, None, -signal.SIGSEGV, None, FAILED, Cause.SIGNAL),
        (SO_FAR, RAISED, 0, None, FAILED, Cause.USER_ERROR),
        (ReducedResult(None), None, -signal.SIGKILL, Cause.TIMEOUT, FAILED, Cause.TIMEOUT),
        (ReducedResult((math.nan,)), None, -signal.SIGKILL, Cause.TIMEOUT, FAILED, Cause.TIMEOUT),
    ],
)
def test_reported_values_count_at_stop_condition_and_time_limit(
    chosen: ReducedResult, report: ReportedOutcome | None, exit_code: int, killed_for: Cause | None, state: TrialState,
    cause: Cause | None,
) -> None:  # fmt: skip
    kill = None if killed_for is None else Kill(killed_for)
    verdict = attempt_outcome(report, exit_code, kill, chosen=chosen, finish_on_timeout=True)
    assert (verdict["state"], verdict.get("cause")) == (state, cause)
    assert verdict.get("value") == (0.5 if state is FINISHED else None)


@pytest.mark.parametrize(
    ("chosen", "report", "killed_for", "state", "message"),
    [
        (STOPPED, ReportedOutcome(TrialState.FINISHED, 0.5, message=STOPPED.reason), None, FINISHED, STOPPED.reason),
        (STOPPED, RAISED, None, FAILED, RAISED.message),
        (STOPPED, None, Cause.TIMEOUT, FAILED, f"{STOPPED.reason}; program.constraints was not evaluated within"),
        (STOPPED, None, Cause.CANCELLED, CANCELLED, "stopped on request"),
        (SO_FAR, None, Cause.TIMEOUT, FAILED, "limits.trial_s; program.constraints was not evaluated within"),
        (SO_FAR, RAISED, Cause.TIMEOUT, FAILED, f"program.constraints was not evaluated: {RAISED.message}"),
        (
            ReducedResult((0.5,), constrained=True),
            None,
            Cause.TIMEOUT,
            FINISHED,
            "finished with the values reported before",
        ),
    ],
)
def test_early_finish_requires_evaluated_constraints(
    chosen: ReducedResult, report: ReportedOutcome | None, killed_for: Cause | None, state: TrialState, message: str
) -> None:
    kill = None if killed_for is None else Kill(killed_for)
    verdict = attempt_outcome(report, 143, kill, chosen=chosen, finish_on_timeout=True, has_constraints=True)
    assert (verdict["state"], verdict.get("value")) == (state, 0.5 if state is FINISHED else None)
    assert message in verdict["message"]


def test_message_and_late_answers_of_stopped_trial_are_kept() -> None:
    report = ReportedOutcome(TrialState.FINISHED, 0.5, remark="without effect: y", late_prune_answers=2)
    verdict = attempt_outcome(report, 0, None, chosen=STOPPED)
    assert (verdict["message"], verdict["late_prune_answers"]) == (f"{STOPPED.reason}; without effect: y", 2)


def test_the_reason_of_a_stopped_trial_is_that_of_its_decision() -> None:
    """And not a later one of its report, whatever the text."""
    later = ReportedOutcome(TrialState.FINISHED, 0.5, message=f"{STOPPED.reason}3")
    assert attempt_outcome(later, 0, None, chosen=STOPPED)["message"] == STOPPED.reason


@pytest.mark.parametrize(
    ("message", "remark", "shown"),
    [("", "", ""), ("why", "", "why"), ("", "unused: y", "unused: y"), ("why", "unused: y", "why; unused: y")],
)
@pytest.mark.parametrize("state", [TrialState.FINISHED, TrialState.PRUNED])
def test_a_remark_follows_the_message(state: TrialState, message: str, remark: str, shown: str) -> None:
    assert attempt_outcome(ReportedOutcome(state, 0.5, message=message, remark=remark), 0, None)["message"] == shown


def test_reported_values_do_not_count_at_time_limit_without_on_timeout() -> None:
    verdict = attempt_outcome(None, -signal.SIGKILL, Kill(Cause.TIMEOUT), chosen=SO_FAR)
    assert (verdict["state"], verdict["cause"]) == (FAILED, Cause.TIMEOUT)


@pytest.mark.parametrize(
    ("values", "objectives", "state"),
    [
        ((0.5, 2.0), 2, FINISHED),
        ((0.5,), 2, FAILED),
        ((0.5, 2.0), 1, FAILED),
        ((0.5, math.nan), 2, FAILED),
    ],
)
def test_result_requires_a_finite_value_per_objective(
    values: tuple[float, ...], objectives: int, state: TrialState
) -> None:
    verdict = attempt_outcome(ReportedOutcome(TrialState.FINISHED, values=values), 0, None, objectives=objectives)
    assert verdict["state"] is state
    assert verdict["values"] == (values if state is FINISHED else None)
    assert verdict["value"] == (0.5 if state is FINISHED else None)


@pytest.mark.parametrize("killed_for", [cause for cause in Cause if cause is not Cause.CANCELLED])
def test_every_kill_has_a_message(killed_for: Cause) -> None:
    assert attempt_outcome(None, -signal.SIGKILL, Kill(killed_for))["message"]


def test_message_and_traceback_of_process_are_kept() -> None:
    verdict = attempt_outcome(RAISED, 0, None)
    assert (verdict["message"], verdict["traceback"]) == ("ValueError: x", "Traceback …")


@pytest.mark.parametrize(("exit_code", "word"), [(-signal.SIGSEGV, "SIGSEGV"), (3, "status 3"), (-35, "SIG35")])
def test_exit_status_is_named_in_message(exit_code: int, word: str) -> None:
    assert word in attempt_outcome(None, exit_code, None)["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "failed", "cause": "no such cause"},
        {"state": "finished", "value": "high"},
        {"state": "finished", "values": [0.5, "high"]},
        {"state": "finished", "values": 3},
        {"state": 3},
        {"state": "failed", "message": 3},
        {"state": "finished", "remark": 3},
        {"state": "running"},
        {"state": "failed", "late_prune_answers": -1},
    ],
)
def test_malformed_report_is_rejected(fields: dict[str, object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        ReportedOutcome(**fields)  # type: ignore[arg-type]


def test_finding_of_slot_is_the_message() -> None:
    verdict = attempt_outcome(None, -signal.SIGKILL, Kill(Cause.HOST_MEMORY, "used 3 MB"))
    assert (verdict["cause"], verdict["message"]) == (Cause.HOST_MEMORY, "used 3 MB")


@pytest.mark.parametrize(
    ("exit_code", "kill", "cause"),
    [
        (-signal.SIGKILL, None, Cause.HOST_MEMORY),
        (-signal.SIGSEGV, None, Cause.SIGNAL),
        (-signal.SIGKILL, Kill(Cause.TIMEOUT), Cause.TIMEOUT),
        (0, None, Cause.EXITED),
    ],
)
def test_kernel_out_of_memory_kill_is_distinguished(exit_code: int, kill: Kill | None, cause: Cause) -> None:
    assert attempt_outcome(None, exit_code, kill, out_of_memory=True)["cause"] is cause


def test_messages_are_bounded_and_storable() -> None:
    verdict = attempt_outcome(
        ReportedOutcome(TrialState.FAILED, message="\ud800\0" * 5000, traceback="a\udfff" * 50_000), 0, None
    )
    for text in (verdict["message"], verdict["traceback"]):
        assert "\0" not in text and len(text.encode()) < 200_000
    assert storable("fine") == "fine"
