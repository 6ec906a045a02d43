"""Signatures of user functions in a real trial process: arguments, return values and error messages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from podium.sweep.protocol.slot_commands import SlotCommand
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values.attempt_assignment import Assignment, Limits
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Event, Logged, Reported, SuggestRequested
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, prune_answer, run, suggest_answer

FINISHED, FAILED, PRUNED = TrialState.FINISHED, TrialState.FAILED, TrialState.PRUNED


def _shape(function: str, **changes: Any) -> dict[str, Any]:
    return {"function": f"shapes:{function}", "argument": None, **changes}


def _reports(events: list[Event]) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in events if isinstance(event, Reported)]


def _answered(slot: SlotDriver, assignment: Assignment, values: dict[str, Any], prune_at: int = 99) -> list[Event]:
    """Run an attempt, answering its suggestions with `values`."""
    new = slot.exchange(run(assignment))
    events = new
    while not isinstance(events[-1], Ended):
        answers: list[SlotCommand] = [suggest_answer(e, values[e.name]) for e in new if isinstance(e, SuggestRequested)]
        answers += [prune_answer(e, e.step == prune_at) for e in new if isinstance(e, Reported) and assignment.prunable]
        new = slot.exchange(*answers)
        events = events + new
    return events


@pytest.mark.parametrize(
    ("program", "value", "reports"),
    [
        (_shape("optuna_objective"), 0.0625, [(0, 0.25), (1, 0.25), (2, 0.25)]),
        (_shape("of_config"), 0.25, []),
        (_shape("of_cfg_by_name"), 0.25, []),
        (_shape("of_anything", argument="config"), 0.25, []),
        (_shape("yields"), 2.25, [(0, 0.25), (1, 1.25), (2, 2.25)]),
        (_shape("yields_with_steps"), 2.0, [(10, 1.0), (20, 2.0)]),
        (_shape("reports_numpys_numbers"), 0.5, [(3, 0.5)]),
        (_shape("yields_numbers"), 0.25, [(0, 1.0), (1, 0.25)]),
    ],
)
def test_function_signature_is_supported(
    slot: SlotDriver, program: dict[str, Any], value: float, reports: list[tuple[int, float]]
) -> None:
    events = slot.events(program)
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert (ended.state, ended.value, ended.message) == (FINISHED, value, "")
    assert _reports(events) == reports


def test_dotted_parameter_is_in_config_flat_and_nested(slot: SlotDriver) -> None:
    ended = slot.result(_shape("of_nested_config"), params={"optimizer.lr": 0.5, "optimizer.name": "sgd"})
    assert (ended.state, ended.value, ended.message) == (FINISHED, 1.0, "")


@pytest.mark.parametrize(
    ("env", "threads", "counted"),
    [({}, None, 1.11), ({}, 2, 2.22), ({"LOKY_MAX_CPU_COUNT": "2", "OMP_NUM_THREADS": "3"}, 1, 2.23)],
)
def test_joblib_starts_one_worker_per_thread_of_trial(
    slot: SlotDriver, env: dict[str, str], threads: int | None, counted: float
) -> None:
    program = {"function": "train:counts_jobs", "env": env}
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        pytest.skip("joblib counts one core")
    assert slot.result(program, threads=threads).value == pytest.approx(counted)


def test_environment_of_function_has_its_parameters(slot: SlotDriver) -> None:
    assert slot.result(_shape("reads_its_environment", env={"RATE": "${x}", "ABSENT": "${envvar:PATH}"})).value == 0.25
    ended = slot.result(_shape("reads_its_environment", env={"RATE": "${envvar:NOWHERE}"}))
    assert (ended.cause, "environment variable 'NOWHERE'" in ended.message) == (Cause.USER_ERROR, True)


def test_other_values_yielded_by_generator_are_logged(slot: SlotDriver) -> None:
    logged = [event for event in slot.events(_shape("yields")) if isinstance(event, Logged)]
    assert [(event.step, event.values) for event in logged] == [(step, {"loss": 0.5}) for step in range(3)]


def test_generator_may_have_several_objectives(slot: SlotDriver) -> None:
    assert slot.result(_shape("yields"), objectives=("score", "loss")).values == (2.25, 0.5)


def test_trial_pruned_exception_of_optuna_prunes(slot: SlotDriver) -> None:
    ended = slot.result(_shape("gives_up_as_optuna_does"))
    assert (ended.state, ended.cause) == (PRUNED, None)


def test_generator_is_closed_when_trial_is_pruned(slot: SlotDriver) -> None:
    assignment = slot.assignment(_shape("yields"), prunable=True)
    events = _answered(slot, assignment, {}, prune_at=1)
    assert isinstance(events[-1], Ended) and events[-1].state is PRUNED
    assert _reports(events) == [(0, 0.25), (1, 1.25)]
    assert AttemptDirectory(Path(assignment.directory)).log.read_text() == "closed\n"


@pytest.mark.parametrize(
    ("function", "cause", "message"),
    [
        ("asks_for_the_sampler", Cause.USER_ERROR, "choose the sampler by `method` in the sweep file"),
        ("of_anything", Cause.USER_ERROR, "'Trial' object is not subscriptable"),
        ("returns_another_name", Cause.BAD_REPORT, "'score'"),
        ("takes_nothing", Cause.USER_ERROR, "takes_nothing takes no argument; write `def takes_nothing(trial):`"),
        ("takes_two", Cause.USER_ERROR, "takes_two requires data in addition to its first argument"),
        ("is_async", Cause.USER_ERROR, "the function is `async`"),
        ("number", Cause.USER_ERROR, "shapes.py: 'number' is not a function, but int 3"),
        ("chooses_a_list", Cause.USER_ERROR, "strings, numbers, booleans or None, got [1, 2]"),
    ],
)
def test_unusable_function_fails_with_reason(slot: SlotDriver, function: str, cause: Cause, message: str) -> None:
    ended = slot.result(_shape(function))
    assert (ended.state, ended.cause) == (FAILED, cause)
    assert message in ended.message


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("exits:objective", "importing exits calls sys.exit(2)"),
        ("inspect:objective", "'inspect' is also the name of another module"),
        ("api.nowhere:objective", "no module named 'api.nowhere' in the code folder"),
    ],
)
def test_unusable_module_fails_with_reason(slot: SlotDriver, function: str, message: str) -> None:
    ended = slot.result({"function": function})
    assert (ended.state, ended.cause) == (FAILED, Cause.USER_ERROR)
    assert message in ended.message


def test_traceback_starts_in_user_code(slot: SlotDriver) -> None:
    lines = slot.result(_shape("fails_inside")).traceback.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert [line.split('"')[1].rsplit("/", 1)[1] for line in lines if "File" in line] == ["shapes.py", "shapes.py"]
    assert lines[-1].startswith("podium.sweep.values.errors.BadReportError: report(value='high')")
    broken = slot.result({"function": "broken:objective"}).traceback
    assert "broken.py" in broken and "importlib" not in broken and "attempt_runner.py" not in broken


# Define-by-run.


def test_search_chooses_parameters_missing_from_sweep_file(slot: SlotDriver) -> None:
    assignment = slot.assignment(_shape("defines"))
    events = _answered(slot, assignment, {"layers": 2, "width 0": 8, "width 1": 16, "kind": "a"})
    wanted = {event.name: event.distribution for event in events if isinstance(event, SuggestRequested)}
    assert wanted == {
        "layers": {"min": 1, "max": 3},
        "width 0": {"min": 8, "max": 64, "log": True},
        "width 1": {"min": 8, "max": 64, "log": True},
        "kind": {"values": ["a", "b", None]},
    }
    assert isinstance(events[-1], Ended) and events[-1].value == 25.25


def test_enqueued_value_out_of_range_fails_trial_at_suggestion(slot: SlotDriver) -> None:
    ended = slot.result(_shape("defines"), params={"x": 0.5}, enqueued={"layers": 9})
    assert (ended.state, ended.cause) == (FAILED, Cause.USER_ERROR)
    assert "layers was enqueued as 9, not between 1 and 3; correct or remove the value" in ended.message


def test_enqueued_values_never_suggested_are_reported(slot: SlotDriver) -> None:
    enqueued = {"layers": 2, "depth": 3, "kind": "a"}
    assignment = slot.assignment(_shape("defines"), params={"x": 0.25}, enqueued=enqueued)
    ended = _answered(slot, assignment, {"layers": 2, "width 0": 8, "width 1": 16, "kind": "a"})[-1]
    words = "enqueued, but not suggested by the code, so without effect: depth"
    assert isinstance(ended, Ended) and (ended.state, ended.message) == (FINISHED, words)
    assert AttemptDirectory(Path(assignment.directory)).log.read_text().endswith(f"podium: {words}\n")


def test_repeated_attempt_reuses_its_values(slot: SlotDriver) -> None:
    params = {"x": 0.5, "layers": 1, "width 0": 8, "kind": None}
    events = slot.events(_shape("defines"), params=params, defined=("layers", "width 0", "kind"), attempt=2)
    assert not [event for event in events if isinstance(event, SuggestRequested)]
    assert isinstance(events[-1], Ended) and events[-1].value == 8.5


def test_early_answer_is_used_when_requested(slot: SlotDriver) -> None:
    values = {"late 0": 0.5, "late 1": 0.5}
    ended = _answered(slot, slot.assignment(_shape("asks_twice"), prunable=True), values, prune_at=1)[-1]
    assert isinstance(ended, Ended)
    assert (ended.state, ended.late_prune_answers) == (PRUNED, 0)


def test_refusal_of_search_is_user_error(slot: SlotDriver) -> None:
    assignment = slot.assignment(_shape("defines"))
    events = slot.until(lambda event: isinstance(event, SuggestRequested), run(assignment))
    ended = slot.end(suggest_answer(events[-1], None, "method: grid needs all parameters"))
    assert (ended.state, ended.cause) == (FAILED, Cause.USER_ERROR)
    assert "method: grid needs all parameters" in ended.message


def test_trial_waiting_for_answer_can_be_stopped(slot: SlotDriver) -> None:
    ended = slot.result(_shape("defines"), limits=Limits(trial_s=0.5))
    assert (ended.state, ended.cause) == (FAILED, Cause.TIMEOUT)
