"""How an attempt ended: the table of what it said, how it died, and what the slot did to it."""

from __future__ import annotations

import math

import pytest

from sweep.outcomes import ChildReport, Kill, judge, storable
from sweep.trial import Cause, TrialState

FINISHED, PRUNED, FAILED, CANCELLED = TrialState.FINISHED, TrialState.PRUNED, TrialState.FAILED, TrialState.CANCELLED
DONE = ChildReport("finished", 0.5)
GAVE_UP = ChildReport("pruned")
RAISED = ChildReport("failed", cause="user_error", message="ValueError: x", traceback="Traceback …")


@pytest.mark.parametrize(
    ("report", "exit", "killed_for", "state", "cause"),
    [
        (DONE, "0", None, FINISHED, None),
        (DONE, "SIGSEGV", None, FINISHED, None),  # in the teardown: its result was complete
        (DONE, "SIGKILL", Cause.TIMEOUT, FINISHED, None),
        (DONE, "SIGKILL", Cause.CANCELLED, FINISHED, None),
        (GAVE_UP, "0", None, PRUNED, None),
        (GAVE_UP, "SIGKILL", Cause.STALLED, PRUNED, None),
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
def test_the_judgement(
    report: ChildReport | None, exit: str, killed_for: Cause | None, state: TrialState, cause: Cause | None
) -> None:
    verdict = judge(report, exit, None if killed_for is None else Kill(killed_for))
    assert (verdict["state"], verdict.get("cause")) == (state, cause)
    assert verdict.get("value") == (0.5 if state is FINISHED else None)


@pytest.mark.parametrize(
    ("values", "objectives", "state"),
    [
        ((0.5, 2.0), 2, FINISHED),
        ((0.5,), 2, FAILED),
        ((0.5, 2.0), 1, FAILED),
        ((0.5, math.nan), 2, FAILED),
    ],
)
def test_a_result_has_a_finite_value_for_each_objective(
    values: tuple[float, ...], objectives: int, state: TrialState
) -> None:
    verdict = judge(ChildReport("finished", values=values), "0", None, objectives=objectives)
    assert verdict["state"] is state
    assert verdict["values"] == (values if state is FINISHED else None)
    assert verdict["value"] == (0.5 if state is FINISHED else None)


@pytest.mark.parametrize("killed_for", [cause for cause in Cause if cause is not Cause.CANCELLED])
def test_whoever_is_killed_is_told_why(killed_for: Cause) -> None:
    assert judge(None, "SIGKILL", Kill(killed_for))["message"]


def test_what_the_process_said_is_kept() -> None:
    verdict = judge(RAISED, "0", None)
    assert (verdict["message"], verdict["traceback"]) == ("ValueError: x", "Traceback …")


@pytest.mark.parametrize(("exit", "word"), [("SIGSEGV", "SIGSEGV"), ("3", "status 3")])
def test_how_it_died_is_named(exit: str, word: str) -> None:
    assert word in judge(None, exit, None)["message"]


@pytest.mark.parametrize(
    "garbage",
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
def test_a_report_that_only_user_code_could_have_written_is_refused(garbage: dict[str, object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        ChildReport(**garbage)  # type: ignore[arg-type]


def test_what_the_slot_found_is_the_message() -> None:
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
def test_a_kill_of_the_kernels_is_told_from_others(exit: str, kill: Kill | None, cause: Cause) -> None:
    assert judge(None, exit, kill, out_of_memory=True)["cause"] is cause


def test_texts_are_bounded_and_storable() -> None:
    verdict = judge(ChildReport("failed", message="\ud800\0" * 5000, traceback="a\udfff" * 50_000), "0", None)
    for text in (verdict["message"], verdict["traceback"]):
        assert "\0" not in text and len(text.encode()) < 200_000
    assert storable("fine") == "fine"
