"""`program.constraints` in a real trial process: called with finished and pruned trials, never skipped silently."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values.attempt_assignment import Limits
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Reported
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, prune_answer, run

FINISHED, FAILED, PRUNED = TrialState.FINISHED, TrialState.FAILED, TrialState.PRUNED


def _program(constraints: str, function: str = "objective") -> dict[str, Any]:
    return {"function": f"constrained:{function}", "argument": None, "constraints": f"constrained:{constraints}"}


def test_finished_trial_has_constraints_of_function_and_its_own(slot: SlotDriver) -> None:
    assignment = slot.assignment(_program("of_the_trial"))
    ended = slot.end(run(assignment))
    assert (ended.state, ended.value, ended.message) == (FINISHED, 0.25, "")
    assert ended.constraints == {"by hand": -1.0, "0": -0.25, "1": -1.75}
    assert AttemptDirectory(Path(assignment.directory)).log.read_text() == "TrialState.COMPLETE 0.25\n"


def test_pruned_trial_has_constraints_computed_with_its_last_report(slot: SlotDriver) -> None:
    assignment = slot.assignment(_program("of_the_trial"), prunable=True)
    new = slot.exchange(run(assignment))
    while not isinstance(new[-1], Ended):
        new = slot.exchange(*[prune_answer(event, event.step == 4) for event in new if isinstance(event, Reported)])
    ended = new[-1]
    assert isinstance(ended, Ended) and (ended.state, ended.constraints["0"]) == (PRUNED, -0.25)
    assert AttemptDirectory(Path(assignment.directory)).log.read_text() == "TrialState.PRUNED 0.75\n"


@pytest.mark.parametrize(
    ("constraints", "found"),
    [("as_array", {"0": 0.5, "1": -sys.float_info.max}), ("by_name", {"size": 0.5})],
)
def test_constraints_may_be_array_or_dict(slot: SlotDriver, constraints: str, found: dict[str, float]) -> None:
    assert slot.result(_program(constraints)).constraints == {"by hand": -1.0, **found}


@pytest.mark.parametrize(
    ("constraints", "cause", "message"),
    [
        ("of_nan", Cause.BAD_REPORT, "constrained:of_nan: a constraint is NaN"),
        ("of_one_number", Cause.BAD_REPORT, "constrained:of_one_number returned 0.5; return a list of numbers"),
        ("of_words", Cause.BAD_REPORT, "constrained:of_words: 'large' is not a number"),
        ("raises", Cause.USER_ERROR, "KeyError: 'no such attribute'"),
        ("takes_two", Cause.USER_ERROR, "takes_two requires more in addition to its first argument"),
        ("nowhere", Cause.USER_ERROR, "constrained.py has no function 'nowhere'"),
    ],
)
def test_trial_fails_when_constraints_are_invalid(
    slot: SlotDriver, constraints: str, cause: Cause, message: str
) -> None:
    ended = slot.result(_program(constraints))
    assert (ended.state, ended.cause) == (FAILED, cause)
    assert message in ended.message


def test_constraints_are_not_computed_for_failed_trial(slot: SlotDriver) -> None:
    ended = slot.result(_program("raises", "fails"))
    assert (ended.cause, ended.message) == (Cause.USER_ERROR, "RuntimeError: no result")


STOPPED = "stop: step 3 reached 3"
TIMED_OUT = "exceeded limits.trial_s"


@pytest.mark.parametrize("ends", ["stop", "trial_s"])
@pytest.mark.parametrize(
    ("constraints", "state", "found", "message"),
    [
        ("by_name", FINISHED, {"size": 0.5}, ""),
        ("raises", FAILED, {}, "KeyError: 'no such attribute'"),
        ("sleeps", FAILED, {}, "program.constraints was not evaluated within limits.grace_s"),
    ],
)
def test_trial_that_ends_early_finishes_only_with_valid_constraints(
    slot: SlotDriver, ends: str, constraints: str, state: TrialState, found: dict[str, float], message: str
) -> None:
    if ends == "stop":
        program = _program(constraints, "reports_for_ever")
        ended = slot.result(program, stop=(("step", 3),), limits=Limits(grace_s=0.5))
    else:
        limits = Limits(trial_s=1.0, on_timeout="finish", grace_s=0.5)
        ended = slot.result(_program(constraints, "reports_then_sleeps"), limits=limits)
    assert (ended.state, ended.value, ended.constraints) == (state, 0.5 if state is FINISHED else None, found)
    assert message in ended.message
    if "KeyError" not in message or ends == "trial_s":
        assert ended.message.startswith(STOPPED if ends == "stop" else TIMED_OUT)
