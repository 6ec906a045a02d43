"""Unchanged scripts as the program of a trial: arguments in, metrics out, and how they end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values.attempt_assignment import Assignment, Limits
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Logged, Reported, Saved, Started
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, key_of, prune_answer, run, stop_command

FINISHED, FAILED, CANCELLED = TrialState.FINISHED, TrialState.FAILED, TrialState.CANCELLED


def _script(what: str, **changes: Any) -> dict[str, Any]:
    """The program of a sweep, as the scheduler hands it over."""
    return {
        "command": ["python", "script.py", what, "${args}"],
        "script": None,
        "metrics": {"score": r"score ([-+0-9.enan]+)", "loss": r"loss ([0-9.]+)"},
        "env": {},
        **changes,
    }


def _log(assignment: Assignment) -> str:
    return AttemptDirectory(Path(assignment.directory)).log.read_text()


def test_script_receives_arguments_and_its_output_lines_are_reports(slot: SlotDriver) -> None:
    assignment = slot.assignment(_script("prints"))
    events = slot.until(lambda event: isinstance(event, Ended), run(assignment))
    assert isinstance(events[0], Started)
    assert [(e.step, e.value) for e in events if isinstance(e, Reported)] == [(0, 0.0), (1, 0.25), (2, 0.5)]
    assert next((e.step, e.values) for e in events if isinstance(e, Logged)) == (0, {"loss": 0.25})
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert (ended.state, ended.value, ended.cause) == (FINISHED, 0.5, None)
    assert "$ python script.py prints --x=0.25 --act=relu" in _log(assignment)
    assert "epoch 2: loss 0.083, score 0.50" in _log(assignment)


def test_script_may_append_metrics_to_file(slot: SlotDriver) -> None:
    events = slot.events(_script("appends", metrics={}))
    assert [(e.step, e.value) for e in events if isinstance(e, Reported)] == [(5, 5.25), (10, 10.25)]
    assert isinstance(events[-1], Ended) and events[-1].value == 10.25


def test_last_line_of_metrics_file_needs_no_newline(slot: SlotDriver) -> None:
    events = slot.events(_script("appends_without_an_end", metrics={}))
    assert [(e.step, e.value) for e in events if isinstance(e, Reported)] == [(0, 0.25), (1, 1.25)]


def test_incomplete_line_does_not_hide_failure_cause(slot: SlotDriver) -> None:
    ended = slot.result(_script("fails_in_a_line", metrics={}))
    assert (ended.cause, "as planned" in ended.message) == (Cause.USER_ERROR, True)


def test_last_point_is_kept_when_script_dies_by_signal(slot: SlotDriver) -> None:
    events = slot.events(_script("says_much_and_kills_itself"))
    assert isinstance(events[-1], Ended) and events[-1].cause is Cause.SIGNAL
    assert [(e.step, e.value) for e in events if isinstance(e, Reported)][-1] == (1001, 1001.0)


def test_script_may_have_several_objectives_and_missing_one_is_named(slot: SlotDriver) -> None:
    assert slot.result(_script("prints"), objectives=("score", "loss")).values == (0.5, 0.083)
    ended = slot.result(_script("prints"), objectives=("score", "seconds"))
    assert (ended.state, ended.cause) == (FAILED, Cause.BAD_REPORT)
    assert "without a value of 'seconds'" in ended.message


def test_script_runs_in_copy_of_code_with_trial_environment(slot: SlotDriver) -> None:
    assignment = slot.assignment(_script("looks_around", env={"GREETING": "x is ${x}"}))
    slot.end(run(assignment))
    names = ["PODIUM_ARTIFACTS", "PODIUM_METRICS", "PODIUM_OBJECTIVES", "PODIUM_PARAMS", "PODIUM_SEED", "PODIUM_TRIAL"]
    work = AttemptDirectory(Path(assignment.directory)).work
    assert f"here: True {work} {names} {{'x': 0.25, 'act': 'relu'}} x is 0.25" in _log(assignment)
    assert not (slot.code / "sibling.txt").exists() and not work.exists()


def test_program_without_interpreter_is_made_executable(slot: SlotDriver) -> None:
    assert slot.result(_script("", command=["./hello.sh", "${x}"])).value == 0.25


@pytest.mark.parametrize(
    ("what", "cause", "message"),
    [
        ("fails", Cause.USER_ERROR, "the script exited with status 1: ValueError: as planned"),
        ("leaves_without_a_word", Cause.USER_ERROR, "status 3: no output on standard error"),
        ("has_no_memory", Cause.HOST_MEMORY, "MemoryError: none left"),
        ("has_no_device_memory", Cause.DEVICE_MEMORY, "CUDA out of memory"),
        ("kills_itself", Cause.SIGNAL, "terminated by SIGKILL"),
        ("says_nothing", Cause.BAD_REPORT, "the script ended without a value of 'score'; if it prints one, add it"),
        ("diverges", Cause.NON_FINITE, "not finite"),
        ("is_not_there", Cause.USER_ERROR, "KeyError: 'is_not_there'"),
    ],
)
def test_failed_script_has_cause_and_message(slot: SlotDriver, what: str, cause: Cause, message: str) -> None:
    ended = slot.result(_script(what))
    assert (ended.state, ended.cause, ended.value) == (FAILED, cause, None)
    assert message in ended.message


@pytest.mark.parametrize("pattern", ["score ([0-9.]+)", "score ([-+.0-9eE]+)", "score ${number}", "auto"])
def test_diverging_loss_fails_trial_instead_of_using_last_finite_value(slot: SlotDriver, pattern: str) -> None:
    ended = slot.result(_script("diverges", metrics={"score": pattern}))
    assert (ended.state, ended.cause, ended.value) == (FAILED, Cause.NON_FINITE, None)


@pytest.mark.parametrize("what", ["diverges_in_json", "diverges_in_json_strings", "sums_up_to_nan"])
def test_non_finite_metric_in_file_fails_trial(slot: SlotDriver, what: str) -> None:
    ended = slot.result(_script(what, metrics={}))
    assert (ended.state, ended.cause, ended.value) == (FAILED, Cause.NON_FINITE, None)


def test_non_finite_secondary_metric_is_logged_and_does_not_fail_the_trial(slot: SlotDriver) -> None:
    events = slot.events(_script("diverges_in_another_metric", metrics={"score": "auto", "loss": "auto"}))
    assert isinstance(events[-1], Ended) and events[-1].value == 0.5
    (logged,) = [event for event in events if isinstance(event, Logged)]
    assert [(name, str(value)) for name, value in logged.values.items()] == [("loss", "nan")]


def test_pattern_that_truncates_number_fails_trial_and_suggests_pattern(slot: SlotDriver) -> None:
    ended = slot.result(_script("converges", metrics={"score": "score ([0-9.]+)"}))
    assert (ended.state, ended.cause) == (FAILED, Cause.BAD_REPORT)
    assert (
        "matched '1.2', only part of '1.2e-05', in the line 'score 1.2e-05'; write score: 'score ${number}'"
        in ended.message
    )
    assert slot.result(_script("converges", metrics={"score": "score ${number}"})).value == 1.2e-05


def test_end_of_stderr_is_reported_as_traceback(slot: SlotDriver) -> None:
    ended = slot.result(_script("fails"))
    assert ended.traceback.startswith("Traceback (most recent call last)") and "script.py" in ended.traceback
    assert "podium/" not in ended.traceback


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"command": ["pyhton", "x"]}, "cannot start 'pyhton': No such file or directory"),
        ({"command": ["python", "nowhere.py"]}, "nowhere.py"),
        ({"command": ["${depth}"]}, "program.command: is empty in this trial"),
    ],
)
def test_command_that_cannot_start_is_user_error(slot: SlotDriver, changes: dict[str, Any], message: str) -> None:
    ended = slot.result(_script("prints", **changes))
    assert (ended.state, ended.cause) == (FAILED, Cause.USER_ERROR)
    assert message in ended.message


def test_catastrophic_backtracking_of_pattern_is_stopped(slot: SlotDriver) -> None:
    ended = slot.result(_script("misleads", metrics={"score": "(a+)+b"}))
    assert (ended.state, ended.cause) == (FAILED, Cause.BAD_REPORT)
    assert "program.metrics: matching the line 'aaaa" in ended.message


def test_large_output_does_not_block_trial(slot: SlotDriver) -> None:
    assert slot.result(_script("floods")).value == 1.0


def test_daemon_of_script_is_killed_without_delay(slot: SlotDriver) -> None:
    ended = slot.result(_script("leaves_a_daemon"))
    assert ended.value is not None and not Path(f"/proc/{int(ended.value)}").exists()
    assert ended.orphans_killed == 1


def test_child_that_keeps_stdout_open_does_not_delay_end(slot: SlotDriver) -> None:
    ended = slot.result(_script("leaves_a_talker"))
    assert (ended.state, ended.value) == (FINISHED, 0.5)


@pytest.mark.parametrize(("what", "grace_s"), [("trains", 5.0), ("cleans_up", 5.0), ("ignores_signals", 0.2)])
def test_pruned_script_is_terminated_then_killed(slot: SlotDriver, what: str, grace_s: float) -> None:
    assignment = slot.assignment(_script(what), prunable=True, limits=Limits(grace_s=grace_s))
    events = slot.exchange(run(assignment))
    reports = 0
    while not isinstance(events[-1], Ended):
        asked = [event for event in events if isinstance(event, Reported)]
        reports += len(asked)
        events = slot.exchange(*[prune_answer(event, event.step == 2) for event in asked])
    assert (events[-1].state, reports) == (TrialState.PRUNED, 3)
    assert ("cleaned up" in _log(assignment)) == (what == "cleans_up")


@pytest.mark.parametrize("what", ["cleans_up", "ignores_signals"])
def test_stopped_script_is_killed_before_trial_process_saves_artifacts(slot: SlotDriver, what: str) -> None:
    assignment = slot.assignment(_script(what), limits=Limits(grace_s=2.0))
    slot.until(lambda event: isinstance(event, Reported), run(assignment))
    *events, ended = slot.until(lambda event: isinstance(event, Ended), stop_command(key_of(assignment)))
    assert isinstance(ended, Ended) and (ended.state, ended.cause) == (CANCELLED, Cause.CANCELLED)
    assert ended.exit == "143"  # not SIGKILL: only the script was killed
    assert [event.name for event in events if isinstance(event, Saved)] == ["artifacts/begun.txt"]
    assert ("cleaned up" in _log(assignment)) == (what == "cleans_up")


def test_script_output_counts_as_activity(slot: SlotDriver) -> None:
    script = _script("trains", metrics={})
    ended = slot.result(script, limits=Limits(silence_s=2.0, trial_s=3.5, grace_s=1.0))
    assert (ended.state, ended.cause) == (FAILED, Cause.TIMEOUT)
