"""A slot with real processes and torch: how attempts end, what they get, what is left of them, who may talk to it."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sweep.files import sha256_of
from sweep.layout import AttemptDirectory
from sweep.trial import Cause, Ended, Limits, Logged, Reported, Saved, Started, TrialState, event_to_dict
from tests.driver import DIGITS, SlotDriver, answer, key_of, run, stop

USER_CODE = Path(__file__).parent / "user_code"
FINISHED, FAILED, CANCELLED = TrialState.FINISHED, TrialState.FAILED, TrialState.CANCELLED


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlotDriver]:
    """One slot for all tests here: its fork server takes seconds to warm up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_TOKEN", "secret")
        patch.setenv("PODIUM_TOKEN", "secret")
        opened = SlotDriver(tmp_path_factory.mktemp("slot"), USER_CODE)
    yield opened
    opened.close()


@pytest.fixture
def slot(warm: SlotDriver) -> Iterator[SlotDriver]:
    """The slot, with nothing running before and after."""
    yield warm
    warm.clear()


def _log(slot: SlotDriver, program: str) -> str:
    assignment = slot.assignment(program)
    slot.end(run(assignment))
    return AttemptDirectory(Path(assignment.directory)).log.read_text()


# How attempts end.


def test_a_good_trial_tells_its_story_in_order(slot: SlotDriver) -> None:
    started, logged, reported, ended = slot.events("good")
    assert isinstance(started, Started) and (started.visible_devices, started.torch_device) == ("", "cpu")
    assert isinstance(logged, Logged) and logged.values == {"loss": 0.75}
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
        ("segfaults", Cause.SIGNAL, "SIGSEGV", "ended by SIGSEGV"),
        ("kills_itself", Cause.SIGNAL, "SIG35", "ended by SIG35"),
        ("no_memory", Cause.HOST_MEMORY, "0", "MemoryError"),
        ("reports_nan", Cause.NON_FINITE, "0", "report(value=nan): not finite"),
        ("returns_infinity", Cause.NON_FINITE, "0", "the function returned inf: not finite"),
        ("returns_text", Cause.BAD_REPORT, "0", "returned 'high': not a number"),
        ("returns_nothing", Cause.BAD_REPORT, "0", "returned None: not a number"),
        ("reports_text", Cause.BAD_REPORT, "0", "report(value='high'): not a number"),
        ("reports_a_wrong_step", Cause.BAD_REPORT, "0", "a step is a whole number from 0"),
        ("asks_out_of_bounds", Cause.USER_ERROR, "0", "x is 0.25 in this sweep, not within 0.5 and 1.0"),
        ("asks_for_another_choice", Cause.USER_ERROR, "0", "act is 'relu' in this sweep, not one of ['tanh']"),
        ("asks_for_what_is_not_there", Cause.USER_ERROR, "0", "no parameter 'depth' (it has: act, x)"),
        ("is_not_there", Cause.USER_ERROR, "0", "train.py has no function 'is_not_there'"),
        ("talks_nonsense", Cause.BAD_REPORT, "0", "garbled message"),
    ],
)
def test_a_failed_trial_is_told_apart_and_the_slot_works_on(
    slot: SlotDriver, function: str, cause: Cause, exit: str, message: str
) -> None:
    ended = slot.result(function)
    assert (ended.state, ended.cause, ended.exit, ended.value) == (FAILED, cause, exit, None)
    assert message in ended.message
    assert slot.result("good").state is FINISHED


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("nowhere:objective", "there is no module 'nowhere' in the code folder"),
        ("sweep:objective", "the names sweep and ensemble are Podium's own; rename your module"),
        ("ensemble.mine:objective", "rename your module"),
        ("broken:objective", "ZeroDivisionError"),
    ],
)
def test_a_module_that_cannot_be_used_is_a_user_error(slot: SlotDriver, function: str, message: str) -> None:
    ended = slot.result({"function": function})
    assert (ended.state, ended.cause) == (FAILED, Cause.USER_ERROR)
    assert message in ended.message


def test_a_user_error_comes_with_its_traceback(slot: SlotDriver) -> None:
    traceback = slot.result("fails").traceback
    assert "train.py" in traceback and 'raise ValueError("as planned")' in traceback


@pytest.mark.parametrize(
    ("program", "limits", "cause", "exit"),
    [
        ("never_ends", Limits(trial_s=0.3, grace_s=0.1), Cause.TIMEOUT, "SIGKILL"),
        ("sleeps", Limits(trial_s=0.3), Cause.TIMEOUT, "143"),
        ("sleeps", Limits(silence_s=0.3), Cause.STALLED, "143"),
        ("never_ends", Limits(silence_s=0.3, grace_s=0.1), Cause.STALLED, "SIGKILL"),
        ({"function": "endless:objective"}, Limits(start_s=0.3, grace_s=0.1), Cause.START_TIMEOUT, "143"),
    ],
)
def test_an_attempt_ends_when_its_clock_runs_out(
    slot: SlotDriver, program: Any, limits: Limits, cause: Cause, exit: str
) -> None:
    ended = slot.result(program, limits=limits)
    assert (ended.state, ended.cause, ended.exit) == (FAILED, cause, exit)
    assert ended.message.split()[-1].startswith("limits.")


# Stopping, pruning, keeping.


@pytest.mark.parametrize(("function", "exit"), [("sleeps", "143"), ("never_ends", "SIGKILL")])
def test_a_stopped_attempt_is_cancelled(slot: SlotDriver, function: str, exit: str) -> None:
    assignment = slot.begin(function, limits=Limits(grace_s=0.1))
    ended = slot.end(stop(key_of(assignment)))
    assert (ended.state, ended.cause, ended.exit) == (CANCELLED, Cause.CANCELLED, exit)


def test_an_attempt_that_finishes_in_its_grace_has_finished(slot: SlotDriver) -> None:
    assignment = slot.begin("finishes_though_asked_to_stop")
    ended = slot.end(stop(key_of(assignment)))
    assert (ended.state, ended.value) == (FINISHED, 0.5)


def test_a_stop_for_another_attempt_stops_nothing(slot: SlotDriver) -> None:
    assignment = slot.begin("finishes_though_asked_to_stop")
    other = key_of(slot.assignment("good"))
    ended = slot.end(stop(other), stop(key_of(assignment)))
    assert ended.key == key_of(assignment)


@pytest.mark.parametrize(("prune_at", "state", "steps"), [(2, TrialState.PRUNED, 3), (9, FINISHED, 5)])
def test_a_trial_gives_up_when_its_answer_says_so(
    slot: SlotDriver, prune_at: int, state: TrialState, steps: int
) -> None:
    events = slot.exchange(run(slot.assignment("gives_up_when_told", prunable=True)))
    reports = 0
    while not isinstance(events[-1], Ended):
        asked = [event for event in events if isinstance(event, Reported)]
        reports += len(asked)
        events = slot.exchange(*[answer(event, event.step == prune_at) for event in asked])
    assert (events[-1].state, reports, events[-1].late_prune_answers) == (state, steps, 0)


def test_an_answer_that_does_not_come_means_go_on(slot: SlotDriver) -> None:
    ended = slot.result("gives_up_when_told", prunable=True, params={"steps": 1})
    assert (ended.state, ended.late_prune_answers) == (FINISHED, 1)


def test_a_saved_model_is_there_whole(slot: SlotDriver) -> None:
    assignment = slot.assignment("saves_a_model")
    events = slot.until(lambda event: isinstance(event, Ended), run(assignment))
    (saved,) = [event for event in events if isinstance(event, Saved)]
    file = Path(assignment.directory) / saved.name
    assert (saved.sha256, saved.size_bytes) == (sha256_of(file), file.stat().st_size)


# What an attempt gets, and what is left of it.


def test_the_log_has_what_process_and_children_wrote(slot: SlotDriver) -> None:
    assert sorted(_log(slot, "says").splitlines()) == ["children too", "errors too", "to the log"]


def test_the_log_of_a_crash_says_where(slot: SlotDriver) -> None:
    assert "Fatal Python error: Segmentation fault" in _log(slot, "segfaults")


def test_the_working_and_temporary_directories_are_its_own_and_go_with_it(slot: SlotDriver) -> None:
    assignment = slot.assignment("looks_around")
    slot.end(run(assignment))
    directory = AttemptDirectory(Path(assignment.directory))
    around = ast.literal_eval(directory.log.read_text())
    assert around["cwd"] == around["dir"] == str(directory.work)
    assert Path(around["temporary"]).parent == directory.temporary
    assert around["masked"] == []
    assert not directory.work.exists() and not directory.temporary.exists()


def test_a_daemonized_grandchild_is_killed_before_the_slot_is_free(slot: SlotDriver) -> None:
    ended = slot.result("leaves_a_daemon")
    assert ended.value is not None and not Path(f"/proc/{int(ended.value)}").exists()
    assert ended.orphans_killed == 1


def test_no_attempt_sees_what_another_has_done_to_its_modules(slot: SlotDriver) -> None:
    assert [slot.result("counts_calls").value for _ in range(2)] == [1.0, 1.0]


def test_the_seed_fixes_all_chance(slot: SlotDriver) -> None:
    first, again, other = (slot.result("draws", seed=seed).value for seed in (1, 1, 2))
    assert first == again != other


def test_torch_works_in_parallel_after_the_fork(slot: SlotDriver) -> None:
    assert slot.result("multiplies_in_parallel", threads=2).value == 2.0
    assert slot.result("multiplies_in_parallel").value == 1.0


@pytest.mark.parametrize(
    ("function", "value"), [("uses_its_own_db_and_api", 42.0), ("imports_nothing_of_the_service", 1.0)]
)
def test_the_services_modules_do_not_reach_a_trial(slot: SlotDriver, function: str, value: float) -> None:
    ended = slot.result(function)
    assert ended.value == value, ended.message


def test_the_built_in_program_gives_the_same_numbers_for_the_same_seed(slot: SlotDriver) -> None:
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


# The fork server dies.


def test_a_killed_fork_server_takes_its_attempt_along_and_a_new_one_works(slot: SlotDriver) -> None:
    assignment = slot.assignment("sleeps")
    events = slot.until(lambda event: isinstance(event, Started), run(assignment))
    slot.kill_fork_server()
    ended = slot.end()
    assert (ended.state, ended.cause) == (FAILED, Cause.INFRASTRUCTURE)
    started = events[-1]
    assert isinstance(started, Started) and not Path(f"/proc/{started.pid}").exists()
    assert slot.result("good").state is FINISHED


def test_a_fork_server_killed_between_two_attempts_is_replaced(slot: SlotDriver) -> None:
    slot.kill_fork_server()
    while slot.fork_servers():
        slot.wait(asyncio.sleep(0.01))
    assert slot.result("good").state is FINISHED


def test_requests_that_pile_up_at_a_slow_fork_server_are_taken_one_by_one(slot: SlotDriver) -> None:
    slot.begin("never_ends", limits=Limits(trial_s=0.2, grace_s=0.05))
    (fork_server,) = slot.fork_servers()
    os.kill(fork_server, signal.SIGSTOP)
    slot.wait(asyncio.sleep(0.5))
    os.kill(fork_server, signal.SIGCONT)
    assert slot.end().cause is Cause.TIMEOUT
    assert slot.fork_servers() == [fork_server]


# Who may talk to it.


def test_calls_that_arrive_out_of_order_are_taken_in_order(slot: SlotDriver) -> None:
    slot.clear()
    assignment = slot.assignment("sleeps", limits=Limits(grace_s=0.1))
    commands = {1: [run(assignment)], 2: [], 3: [stop(key_of(assignment))]}
    answers = slot.wait(_call_all(slot, {number: commands[number] for number in (3, 1, 2)}))
    assert answers[1] == answers[2] == b"null"
    events = json.loads(answers[3])
    slot.acknowledged = events[-1][0]
    ended = events[-1][1] if events[-1][1]["kind"] == "ended" else event_to_dict(slot.end())
    assert (ended["key"]["trial_id"], ended["state"]) == (assignment.trial_id, CANCELLED)


def test_a_newer_call_ends_an_older_one_with_nothing(slot: SlotDriver) -> None:
    slot.clear()
    answers = slot.wait(_call_all(slot, {1: [], 2: [run(slot.assignment("good"))]}))
    assert answers[1] == b"null"
    assert json.loads(answers[2])


async def _call_all(slot: SlotDriver, commands: dict[int, list[dict[str, Any]]]) -> dict[int, bytes]:
    """Calls by number, started in this order and all at once; the answer to each."""
    seen, slot.call = slot.acknowledged, max(commands)
    calls = [slot.slot.exchange(slot.session, n, seen, json.dumps(sent).encode()) for n, sent in commands.items()]
    answers = await asyncio.gather(*calls)
    return dict(zip(commands, answers, strict=True))


def test_an_old_session_gets_nothing_and_changes_nothing(slot: SlotDriver) -> None:
    old = slot.session
    slot.open()
    late = slot.slot.exchange(old, slot.call + 1, 0, json.dumps([run(slot.assignment("good"))]).encode())
    assert slot.wait(late) == b"null"
    assert slot.open()["running"] is None


def test_a_new_session_finds_what_runs_and_what_happened_meanwhile(slot: SlotDriver) -> None:
    assignment = slot.begin("finishes_though_asked_to_stop")
    about = slot.open()
    assert about["running"] == [assignment.trial_id, assignment.attempt]
    ended = slot.end(stop(key_of(assignment)))
    about = slot.open()  # the end was not acknowledged
    assert about["running"] is None
    assert about["events"][-1][1]["key"]["trial_id"] == ended.key.trial_id
    slot.events("good")
    assert all(event["key"]["trial_id"] > assignment.trial_id for _, event in slot.open()["events"])


def test_a_second_attempt_beside_the_first_is_refused(slot: SlotDriver) -> None:
    first = slot.begin("sleeps")
    second = slot.assignment("good")
    refused = slot.end(run(first), run(second))
    assert (refused.key, refused.state, refused.cause) == (key_of(second), FAILED, Cause.INFRASTRUCTURE)
    assert "is busy" in refused.message
    assert slot.end(stop(key_of(first))).key == key_of(first)
