"""The outcome of an attempt, from its report, its exit status, and the action of the slot."""

from __future__ import annotations

import math

import pytest

from podium.sweep.values.attempt_outcomes import ChildReport, Chosen, Kill, judge, storable
from podium.sweep.values.trial import Cause, TrialState

FINISHED, PRUNED, FAILED, CANCELLED = TrialState.FINISHED, TrialState.PRUNED, TrialState.FAILED, TrialState.CANCELLED
DONE = ChildReport("finished", 0.5)
WAS_PRUNED = ChildReport("pruned")
RAISED = ChildReport("failed", cause="user_error", message="ValueError: x", traceback="Traceback …")


@pytest.mark.parametrize(
    ("report", "exit", "killed_for", "state", "cause"),
    [
        (DONE, "0", None, FINISHED, None),
        (DONE, "SIGSEGV", None, FINISHED, None),  # in the teardown: its result was complete
        (DONE, "SIGKILL", Cause.TIMEOUT, FINISHED, None),
        (DONE, "SIGKILL", Cause.CANCELLED, FINISHED, None),
        (WAS_PRUNED, "0", None, PRUNED, None),
        (WAS_PRUNED, "SIGKILL", Cause.STALLED, PRUNED, None),
        (RAISED, "0", None, FAILED, Cause.USER_ERROR),
        (RAISED, "SIGKILL", Cause.TIMEOUT, FAILED, Cause.TIMEOUT),
        (RAISED, "143", Cause.CANCELLED, CANCELLED, Cause.CANCELLED),
        (None, "143", Cause.CANCELLED, CANCELLED, Cause.CANCELLED),
        (None, "SIGKILL", Cause.TIMEOUT, FAILED, Cause.TIMEOUT),
        (None, "SIGKILL", Cause.STALLED, FAILED, Cause.STALLED),
        (None, "SIGKILL", Cause.START_TIMEOUT, FAILED, Cause.START_TIMEOUT),
        (None, "SIGKILL", Cause.INFRASTRUCTURE, FAILED, Cause.INFRASTRUCTURE),
        (None, "SIGSEGV", None, FAILED, Cause.SIGNAL),
        (None, "0", None, FAILED, Cause.EXITED),
        (None, "3", None, FAILED, Cause.EXITED),
        (ChildReport("finished", None), "0", None, FAILED, Cause.BAD_REPORT),
        (ChildReport("finished", math.nan), "0", None, FAILED, Cause.BAD_REPORT),
        (ChildReport("finished", math.inf), "0", None, FAILED, Cause.BAD_REPORT),
    ],
)
def test_outcome_follows_from_report_exit_and_kill(
    report: ChildReport | None, exit: str, killed_for: Cause | None, state: TrialState, cause: Cause | None
) -> None:
    verdict = judge(report, exit, None if killed_for is None else Kill(killed_for))
    assert (verdict["state"], verdict.get("cause")) == (state, cause)
    assert verdict.get("value") == (0.5 if state is FINISHED else None)


STOPPED = Chosen((0.5,), "stop: step 3 reached 3")
SO_FAR = Chosen((0.5,))


@pytest.mark.parametrize(
    ("chosen", "report", "exit", "killed_for", "state", "cause"),
    [
        (STOPPED, None, "SIGKILL", None, FINISHED, None),  # killed after the decision
        (STOPPED, RAISED, "0", None, FINISHED, None),
        (STOPPED, ChildReport("finished", 0.1), "0", None, FINISHED, None),
        (STOPPED, WAS_PRUNED, "0", None, FINISHED, None),
        (STOPPED, None, "143", Cause.CANCELLED, FINISHED, None),
        (Chosen(None, "stop: step 3 reached 3"), None, "0", None, FAILED, Cause.BAD_REPORT),
        (SO_FAR, None, "SIGKILL", Cause.TIMEOUT, FINISHED, None),
        (SO_FAR, RAISED, "1", Cause.TIMEOUT, FINISHED, None),
        (SO_FAR, None, "SIGKILL", Cause.CANCELLED, CANCELLED, Cause.CANCELLED),
        (SO_FAR, None, "SIGKILL", Cause.STALLED, FAILED, Cause.STALLED),
        (SO_FAR, None, "SIGSEGV", None, FAILED, Cause.SIGNAL),
        (SO_FAR, RAISED, "0", None, FAILED, Cause.USER_ERROR),
        (Chosen(None), None, "SIGKILL", Cause.TIMEOUT, FAILED, Cause.TIMEOUT),
        (Chosen((math.nan,)), None, "SIGKILL", Cause.TIMEOUT, FAILED, Cause.TIMEOUT),
    ],
)
def test_reported_values_count_at_stop_condition_and_time_limit(
    chosen: Chosen, report: ChildReport | None, exit: str, killed_for: Cause | None, state: TrialState,
    cause: Cause | None,
) -> None:  # fmt: skip
    kill = None if killed_for is None else Kill(killed_for)
    verdict = judge(report, exit, kill, chosen=chosen, finish_on_timeout=True)
    assert (verdict["state"], verdict.get("cause")) == (state, cause)
    assert verdict.get("value") == (0.5 if state is FINISHED else None)


@pytest.mark.parametrize(
    ("chosen", "report", "killed_for", "state", "message"),
    [
        (STOPPED, ChildReport("finished", 0.5, message=STOPPED.reason), None, FINISHED, STOPPED.reason),
        (STOPPED, RAISED, None, FAILED, RAISED.message),
        (STOPPED, None, Cause.TIMEOUT, FAILED, f"{STOPPED.reason}; program.constraints was not evaluated within"),
        (STOPPED, None, Cause.CANCELLED, CANCELLED, "stopped on request"),
        (SO_FAR, None, Cause.TIMEOUT, FAILED, "limits.trial_s; program.constraints was not evaluated within"),
        (SO_FAR, RAISED, Cause.TIMEOUT, FAILED, f"program.constraints was not evaluated: {RAISED.message}"),
        (Chosen((0.5,), constrained=True), None, Cause.TIMEOUT, FINISHED, "finished with the values reported before"),
    ],
)
def test_early_finish_requires_evaluated_constraints(
    chosen: Chosen, report: ChildReport | None, killed_for: Cause | None, state: TrialState, message: str
) -> None:
    kill = None if killed_for is None else Kill(killed_for)
    verdict = judge(report, "143", kill, chosen=chosen, finish_on_timeout=True, has_constraints=True)
    assert (verdict["state"], verdict.get("value")) == (state, 0.5 if state is FINISHED else None)
    assert message in verdict["message"]


def test_message_and_late_answers_of_stopped_trial_are_kept() -> None:
    report = ChildReport("finished", 0.5, message=f"{STOPPED.reason}; without effect: y", late_prune_answers=2)
    verdict = judge(report, "0", None, chosen=STOPPED)
    assert (verdict["message"], verdict["late_prune_answers"]) == (report.message, 2)


def test_reported_values_do_not_count_at_time_limit_without_on_timeout() -> None:
    verdict = judge(None, "SIGKILL", Kill(Cause.TIMEOUT), chosen=SO_FAR)
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
    verdict = judge(ChildReport("finished", values=values), "0", None, objectives=objectives)
    assert verdict["state"] is state
    assert verdict["values"] == (values if state is FINISHED else None)
    assert verdict["value"] == (0.5 if state is FINISHED else None)


@pytest.mark.parametrize("killed_for", [cause for cause in Cause if cause is not Cause.CANCELLED])
def test_every_kill_has_a_message(killed_for: Cause) -> None:
    assert judge(None, "SIGKILL", Kill(killed_for))["message"]


def test_message_and_traceback_of_process_are_kept() -> None:
    verdict = judge(RAISED, "0", None)
    assert (verdict["message"], verdict["traceback"]) == ("ValueError: x", "Traceback …")


@pytest.mark.parametrize(("exit", "word"), [("SIGSEGV", "SIGSEGV"), ("3", "status 3")])
def test_exit_status_is_named_in_message(exit: str, word: str) -> None:
    assert word in judge(None, exit, None)["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "failed", "cause": "no such cause"},
        {"state": "finished", "value": "high"},
        {"state": "finished", "values": [0.5, "high"]},
        {"state": "finished", "values": 3},
        {"state": 3},
        {"state": "failed", "message": 3},
        {"state": "failed", "late_prune_answers": -1},
    ],
)
def test_malformed_report_is_rejected(fields: dict[str, object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        ChildReport(**fields)  # type: ignore[arg-type]


def test_finding_of_slot_is_the_message() -> None:
    verdict = judge(None, "SIGKILL", Kill(Cause.HOST_MEMORY, "used 3 MB"))
    assert (verdict["cause"], verdict["message"]) == (Cause.HOST_MEMORY, "used 3 MB")


@pytest.mark.parametrize(
    ("exit", "kill", "cause"),
    [
        ("SIGKILL", None, Cause.HOST_MEMORY),
        ("SIGSEGV", None, Cause.SIGNAL),
        ("SIGKILL", Kill(Cause.TIMEOUT), Cause.TIMEOUT),
        ("0", None, Cause.EXITED),
    ],
)
def test_kernel_out_of_memory_kill_is_distinguished(exit: str, kill: Kill | None, cause: Cause) -> None:
    assert judge(None, exit, kill, out_of_memory=True)["cause"] is cause


def test_messages_are_bounded_and_storable() -> None:
    verdict = judge(ChildReport("failed", message="\ud800\0" * 5000, traceback="a\udfff" * 50_000), "0", None)
    for text in (verdict["message"], verdict["traceback"]):
        assert "\0" not in text and len(text.encode()) < 200_000
    assert storable("fine") == "fine"
