"""A slot with real processes and torch: how attempts end, what they receive, and what they leave behind."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.trial_process.fork_server import SESSION_NICENESS, TRIAL_NICENESS
from podium.sweep.values.attempt_assignment import Limits
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Logged, Reported, Sampled, Saved, Started, StopRequested
from podium.sweep.values.states import TrialState
from tests.driver import DIGITS, SlotDriver, key_of, prune_answer, run, stop_command

FINISHED, FAILED, CANCELLED = TrialState.FINISHED, TrialState.FAILED, TrialState.CANCELLED


def _log(slot: SlotDriver, program: str | dict[str, Any]) -> str:
    assignment = slot.assignment(program)
    slot.end(run(assignment))
    return AttemptDirectory(Path(assignment.directory)).log.read_text()


# How attempts end.


def test_finished_trial_emits_events_in_order(slot: SlotDriver) -> None:
    events = [event for event in slot.events("good") if not isinstance(event, Sampled)]
    started, logged, marked, reported, ended = events
    assert isinstance(started, Started) and (started.visible_devices, started.torch_device) == ("", "cpu")
    assert isinstance(logged, Logged) and logged.values == {"loss": 0.75}
    assert isinstance(marked, Logged) and str(marked.values) == "{'gone': nan}"
    assert isinstance(reported, Reported) and (reported.step, reported.value) == (0, 0.25)
    assert isinstance(ended, Ended)
    assert (ended.state, ended.value, ended.cause, ended.exit, ended.pid) == (FINISHED, 0.25, None, "0", started.pid)
    assert ended.started_at <= started.at <= ended.ended_at


@pytest.mark.parametrize(
    ("function", "cause", "exit", "message"),
    [
        ("fails", Cause.USER_ERROR, "0", "ValueError: as planned"),
        ("leaves", Cause.EXITED, "0", "exited with status 0 before its function returned"),
        ("leaves_politely", Cause.EXITED, "3", "exited with status 3"),
        ("segfaults", Cause.SIGNAL, "SIGSEGV", "terminated by SIGSEGV"),
        ("kills_itself", Cause.SIGNAL, "SIG35", "terminated by SIG35"),
        ("no_memory", Cause.HOST_MEMORY, "0", "MemoryError"),
        ("reports_nan", Cause.NON_FINITE, "0", "report(value=nan): not finite"),
        ("returns_infinity", Cause.NON_FINITE, "0", "the function returned inf: not finite"),
        ("returns_text", Cause.BAD_REPORT, "0", "returned 'high': not a number"),
        (
            "returns_nothing",
            Cause.BAD_REPORT,
            "0",
            "the function returned nothing; return a number, or a dict with 'score'",
        ),
        ("reports_text", Cause.BAD_REPORT, "0", "report(value='high'): not a number"),
        ("reports_a_dict", Cause.BAD_REPORT, "0", "report the value of 'score' alone, or all of them by trial.log"),
        ("reports_a_wrong_step", Cause.BAD_REPORT, "0", "step must be an integer of at least 0"),
        ("asks_out_of_bounds", Cause.USER_ERROR, "0", "x is 0.25 in this trial, not between 0.5 and 1.0"),
        ("asks_for_another_choice", Cause.USER_ERROR, "0", "act is 'relu' in this trial, not one of ['tanh']"),
        ("is_not_there", Cause.USER_ERROR, "0", "train.py has no function 'is_not_there'"),
        ("talks_nonsense", Cause.BAD_REPORT, "0", "invalid message"),
    ],
)
def test_failed_trial_has_its_cause_and_slot_stays_usable(
    slot: SlotDriver, function: str, cause: Cause, exit: str, message: str
) -> None:
    ended = slot.result(function)
    assert (ended.state, ended.cause, ended.exit, ended.value) == (FAILED, cause, exit, None)
    assert message in ended.message
    assert slot.result("good").state is FINISHED


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("nowhere:objective", "no module named 'nowhere' in the code folder"),
        ("podium:objective", "the name podium is reserved; rename your module"),
        ("podium.mine:objective", "rename your module"),
        ("broken:objective", "ZeroDivisionError"),
    ],
)
def test_unusable_module_is_user_error(slot: SlotDriver, function: str, message: str) -> None:
    ended = slot.result({"function": function})
    assert (ended.state, ended.cause) == (FAILED, Cause.USER_ERROR)
    assert message in ended.message


def test_user_error_includes_traceback(slot: SlotDriver) -> None:
    traceback = slot.result("fails").traceback
    assert "train.py" in traceback and 'raise ValueError("as planned")' in traceback


@pytest.mark.parametrize(
    ("program", "limits", "cause", "exit"),
    [
        ("never_ends", Limits(trial_s=1.0, grace_s=0.1), Cause.TIMEOUT, "SIGKILL"),  # it ignores SIGTERM by then
        ("sleeps", Limits(trial_s=0.3), Cause.TIMEOUT, "143"),
        ("sleeps", Limits(silence_s=0.3), Cause.STALLED, "143"),
        ("never_ends", Limits(silence_s=1.0, grace_s=0.1), Cause.STALLED, "SIGKILL"),
        ({"function": "endless:objective"}, Limits(start_s=0.3, grace_s=0.1), Cause.START_TIMEOUT, "143"),
    ],
)
def test_attempt_ends_at_time_limit(slot: SlotDriver, program: Any, limits: Limits, cause: Cause, exit: str) -> None:
    ended = slot.result(program, limits=limits)
    assert (ended.state, ended.cause, ended.exit) == (FAILED, cause, exit)
    assert ended.message.split()[-1].startswith("limits.")


# Stopping, pruning, keeping.


@pytest.mark.parametrize(("function", "exit"), [("sleeps", "143"), ("never_ends", "SIGKILL")])
def test_stopped_attempt_is_cancelled(slot: SlotDriver, function: str, exit: str) -> None:
    assignment = slot.begin(function, limits=Limits(grace_s=0.1))
    ended = slot.end(stop_command(key_of(assignment)))
    assert (ended.state, ended.cause, ended.exit) == (CANCELLED, Cause.CANCELLED, exit)


def test_attempt_that_finishes_within_grace_is_finished(slot: SlotDriver) -> None:
    assignment = slot.begin("finishes_though_asked_to_stop")
    ended = slot.end(stop_command(key_of(assignment)))
    assert (ended.state, ended.value) == (FINISHED, 0.5)


def test_stop_of_the_sweep_is_sent_while_the_attempt_runs(slot: SlotDriver) -> None:
    with slot.with_options(flush_s=60.0):  # for events that are not urgent
        events = slot.until(lambda event: isinstance(event, StopRequested), run(slot.assignment("stops_the_sweep")))
    assert not [event for event in events if isinstance(event, Ended)]


def test_stop_of_other_attempt_has_no_effect(slot: SlotDriver) -> None:
    assignment = slot.begin("finishes_though_asked_to_stop")
    other = key_of(slot.assignment("good"))
    ended = slot.end(stop_command(other), stop_command(key_of(assignment)))
    assert ended.key == key_of(assignment)


@pytest.mark.parametrize(("prune_at", "state", "steps"), [(2, TrialState.PRUNED, 3), (9, FINISHED, 5)])
def test_trial_is_pruned_when_answer_is_prune(slot: SlotDriver, prune_at: int, state: TrialState, steps: int) -> None:
    events = slot.exchange(run(slot.assignment("gives_up_when_told", prunable=True)))
    reports = 0
    while not isinstance(events[-1], Ended):
        asked = [event for event in events if isinstance(event, Reported)]
        reports += len(asked)
        events = slot.exchange(*[prune_answer(event, event.step == prune_at) for event in asked])
    assert (events[-1].state, reports, events[-1].late_prune_answers) == (state, steps, 0)


def test_trial_continues_when_pruning_answer_does_not_arrive(slot: SlotDriver) -> None:
    ended = slot.result("gives_up_when_told", prunable=True, params={"steps": 1})
    assert (ended.state, ended.late_prune_answers) == (FINISHED, 1)


def test_saved_model_is_complete(slot: SlotDriver) -> None:
    assignment = slot.assignment("saves_a_model")
    events = slot.until(lambda event: isinstance(event, Ended), run(assignment))
    (saved,) = [event for event in events if isinstance(event, Saved)]
    file = Path(assignment.directory) / saved.name
    assert (saved.sha256, saved.size_bytes) == (sha256_of(file), file.stat().st_size)


# What an attempt receives and leaves behind.


def test_log_includes_output_of_process_and_children(slot: SlotDriver) -> None:
    assert sorted(_log(slot, "says").splitlines()) == ["children too", "errors too", "to the log"]


@pytest.mark.parametrize("preload", [[], ["wave"]])
def test_standard_streams_are_those_of_a_pipe(slot: SlotDriver, preload: list[str]) -> None:
    program = {"function": "train:describes_streams", "preload": preload}
    for _ in range(2):  # nothing of an attempt reaches the next one
        lines = _log(slot, program).splitlines()
        assert sorted(lines) == ["INFO:mine:an INFO line", "[False, False] ''", "not flushed"]


def test_priority_is_lower_than_that_of_members_also_by_session(slot: SlotDriver) -> None:
    niceness, *group = _log(slot, "prints_its_priority").split()
    assert int(niceness) >= TRIAL_NICENESS
    assert not group or group[1:] == ["nice", str(SESSION_NICENESS)]


def test_log_of_crash_includes_location(slot: SlotDriver) -> None:
    assert "Fatal Python error: Segmentation fault" in _log(slot, "segfaults")


def test_working_and_temporary_directories_are_private_and_removed(slot: SlotDriver) -> None:
    assignment = slot.assignment("looks_around")
    slot.end(run(assignment))
    directory = AttemptDirectory(Path(assignment.directory))
    around = ast.literal_eval(directory.log.read_text())
    assert around["cwd"] == around["dir"] == str(directory.work)
    assert Path(around["temporary"]).parent == directory.temporary
    assert around["masked"] == []
    assert not directory.work.exists() and not directory.temporary.exists()


def test_daemonized_grandchild_is_killed_before_slot_is_free(slot: SlotDriver) -> None:
    ended = slot.result("leaves_a_daemon")
    assert ended.value is not None and not Path(f"/proc/{int(ended.value)}").exists()
    assert ended.orphans_killed == 1


def test_module_changes_do_not_reach_other_attempts(slot: SlotDriver) -> None:
    assert [slot.result("counts_calls").value for _ in range(2)] == [1.0, 1.0]


def test_seed_fixes_all_random_generators(slot: SlotDriver) -> None:
    first, again, other = (slot.result("draws", seed=seed).value for seed in (1, 1, 2))
    assert first == again != other


def test_optimizer_does_not_import_the_compiler(slot: SlotDriver) -> None:
    """It has hundreds of modules; the template has imported them."""
    imported = slot.result("imports_with_its_optimizer").value
    assert imported is not None and imported < 10


def test_torch_runs_in_parallel_after_fork(slot: SlotDriver) -> None:
    assert slot.result("multiplies_in_parallel", threads=2).value == 2.0
    assert slot.result("multiplies_in_parallel").value == 1.0


@pytest.mark.parametrize(
    ("function", "value"), [("uses_its_own_db_and_api", 42.0), ("imports_nothing_of_the_service", 1.0)]
)
def test_service_modules_are_not_visible_to_trial(slot: SlotDriver, function: str, value: float) -> None:
    ended = slot.result(function)
    assert ended.value == value, ended.message


@pytest.mark.slow
def test_builtin_program_is_deterministic_for_same_seed(slot: SlotDriver) -> None:
    def curve(seed: int) -> list[float]:
        events = slot.events(
            DIGITS, metric="val_accuracy", seed=seed, params={"epochs": 2, "lr": 0.01}, code=None, threads=2
        )
        assert isinstance(events[-1], Ended) and events[-1].state is FINISHED, events[-1]
        assert {event.name for event in events if isinstance(event, Saved)} == {
            "model.safetensors",
            "predictions.safetensors",
        }
        return [event.value for event in events if isinstance(event, Reported)]

    first = curve(1)
    assert len(first) == 2 and first[-1] > 0.7
    assert curve(1) == first != curve(2)
