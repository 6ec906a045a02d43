"""Faults of a slot: a dead or slow fork server, calls late or out of order, and a new scheduler."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from podium.sweep.protocol.scheduler_slot_messages import SUPERSEDED, SlotDescription, decode_events, encode_commands
from podium.sweep.protocol.slot_commands import SlotCommand
from podium.sweep.runtime.process_title import process_name
from podium.sweep.runtime.process_trees import children
from podium.sweep.values.attempt_assignment import Assignment, Limits
from podium.sweep.values.errors import FencedError
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Started
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, key_of, run, stop_command

FINISHED, FAILED, CANCELLED = TrialState.FINISHED, TrialState.FAILED, TrialState.CANCELLED


# Messages of a trial that the slot cannot forward.


def test_deeply_nested_attribute_is_dropped_and_slot_is_free(slot: SlotDriver) -> None:
    assert slot.result("notes_what_is_deep").user_attrs == {}
    assert slot.result("good").state is FINISHED


def test_unserializable_end_is_reported_without_details(slot: SlotDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    def unclear(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("as planned")

    slot.open()
    with monkeypatch.context() as patch:
        patch.setattr("podium.sweep.slots.attempt_end_event.attempt_outcome", unclear)
        ended = slot.result("good")
    assert (ended.state, ended.cause) == (FAILED, Cause.INFRASTRUCTURE)
    assert "RuntimeError: as planned" in ended.message
    assert slot.result("good").state is FINISHED


# The process of the next attempt is forked ahead.


def _spare(slot: SlotDriver) -> int:
    (fork_server,) = slot.fork_servers()
    spares: list[int] = []
    while not spares:  # the fork server replaces it right after an attempt has started
        spares = [pid for pid in children(fork_server) if process_name(pid) == "podium-spare"]
    return spares[0]


def _start(slot: SlotDriver) -> int:
    """Start an attempt that only sleeps; its process."""
    events = slot.until(lambda event: isinstance(event, Started), run(slot.assignment("sleeps")))
    started = events[-1]
    assert isinstance(started, Started)
    return started.pid


def test_next_attempt_runs_in_the_process_forked_ahead(slot: SlotDriver) -> None:
    assert slot.result("good").state is FINISHED
    waiting = _spare(slot)
    assert _start(slot) == waiting
    following = _spare(slot)
    assert following != waiting
    os.kill(waiting, signal.SIGKILL)
    assert slot.end().cause is Cause.SIGNAL
    assert _spare(slot) == following, "it is no orphan of the attempt"


def test_killed_spare_is_replaced(slot: SlotDriver) -> None:
    assert slot.result("good").state is FINISHED
    killed = _spare(slot)
    os.kill(killed, signal.SIGKILL)
    while _spare(slot) == killed:
        pass
    assert slot.result("good").state is FINISHED


# The fork server dies.


def test_killed_fork_server_ends_its_attempt_and_is_replaced(slot: SlotDriver) -> None:
    assignment = slot.assignment("sleeps")
    events = slot.until(lambda event: isinstance(event, Started), run(assignment))
    slot.kill_fork_server()
    ended = slot.end()
    assert (ended.state, ended.cause) == (FAILED, Cause.INFRASTRUCTURE)
    started = events[-1]
    assert isinstance(started, Started) and not Path(f"/proc/{started.pid}").exists()
    assert slot.result("good").state is FINISHED


def test_fork_server_killed_between_attempts_is_replaced(slot: SlotDriver) -> None:
    slot.kill_fork_server()
    while slot.fork_servers():
        slot.wait(asyncio.sleep(0.01))
    assert slot.result("good").state is FINISHED


def test_stop_waits_for_restarting_fork_server(slot: SlotDriver) -> None:
    slot.clear()
    slot.kill_fork_server()
    while slot.fork_servers():
        slot.wait(asyncio.sleep(0.01))
    assignment = slot.assignment("sleeps", limits=Limits(grace_s=0.1))
    slot.wait(_call_all(slot, {1: [run(assignment)], 2: [stop_command(key_of(assignment))]}))
    _assert_cancelled(slot, assignment)


def test_new_session_reports_attempt_that_previous_one_is_starting(slot: SlotDriver) -> None:
    slot.clear()
    slot.kill_fork_server()
    while slot.fork_servers():
        slot.wait(asyncio.sleep(0.01))
    assignment = slot.assignment("sleeps", limits=Limits(grace_s=0.1))

    async def both() -> bytes:
        sent = encode_commands([run(assignment)])
        call = asyncio.ensure_future(slot.slot.exchange(slot.session, slot.call + 1, slot.acknowledged, sent))
        await asyncio.sleep(0.05)
        about = await slot.slot.open(slot.epoch)
        await call
        return about

    assert SlotDescription.from_json(slot.wait(both())).running == assignment.key


def test_requests_to_slow_fork_server_are_processed_in_sequence(slot: SlotDriver) -> None:
    slot.begin("never_ends", limits=Limits(trial_s=1.0, grace_s=0.05))
    (fork_server,) = slot.fork_servers()
    os.kill(fork_server, signal.SIGSTOP)
    slot.wait(asyncio.sleep(1.3))
    os.kill(fork_server, signal.SIGCONT)
    assert slot.end().cause is Cause.TIMEOUT
    assert slot.fork_servers() == [fork_server]


def test_attempt_ends_when_fork_server_hangs(slot: SlotDriver) -> None:
    with slot.with_options(fork_server_s=0.3):
        assignment = slot.begin("never_ends", limits=Limits(grace_s=0.05))
        (fork_server,) = slot.fork_servers()
        os.kill(fork_server, signal.SIGSTOP)
        assert slot.end(stop_command(key_of(assignment))).cause is Cause.CANCELLED
        assert slot.result("good").state is TrialState.FINISHED
        assert fork_server not in slot.fork_servers()


# Sessions and calls.


def test_calls_out_of_order_are_processed_in_order(slot: SlotDriver) -> None:
    slot.clear()
    assignment = slot.assignment("sleeps", limits=Limits(grace_s=0.1))
    commands: dict[int, list[SlotCommand]] = {1: [run(assignment)], 2: [], 3: [stop_command(key_of(assignment))]}
    answers = slot.wait(_call_all(slot, {number: commands[number] for number in (3, 1, 2)}))
    assert answers[1] == answers[2] == SUPERSEDED
    _assert_cancelled(slot, assignment)


def test_newer_call_ends_older_one_with_empty_result(slot: SlotDriver) -> None:
    slot.clear()
    answers = slot.wait(_call_all(slot, {1: [], 2: [run(slot.assignment("good"))]}))
    assert answers[1] == SUPERSEDED
    assert decode_events(answers[2])


def _assert_cancelled(slot: SlotDriver, assignment: Assignment) -> None:
    """The attempt has ended, or ends now, as cancelled."""
    description = slot.open()
    ended = slot.end() if description.running is not None else description.events[-1][1]
    assert isinstance(ended, Ended) and (ended.key, ended.state) == (assignment.key, CANCELLED)


async def _call_all(slot: SlotDriver, commands: dict[int, list[SlotCommand]]) -> dict[int, bytes]:
    """Calls by number, started in this order and all at once; the answer to each."""
    seen, slot.call = slot.acknowledged, max(commands)
    calls = [slot.slot.exchange(slot.session, n, seen, encode_commands(sent)) for n, sent in commands.items()]
    answers = await asyncio.gather(*calls)
    return dict(zip(commands, answers, strict=True))


def test_call_that_is_sent_again_is_executed_once(slot: SlotDriver) -> None:
    """As after a network failure, when it is unknown whether the call arrived."""
    assignment = slot.assignment("good")
    sent = encode_commands([run(assignment)])
    slot.call += 1

    async def twice() -> list[bytes]:
        return [await slot.slot.exchange(slot.session, slot.call, slot.acknowledged, sent) for _ in range(2)]

    first, second = (decode_events(answer) for answer in slot.wait(twice()))
    assert first and second is not None and first == second[: len(first)]
    events = slot.until(lambda event: isinstance(event, Ended))
    assert len([event for event in events if isinstance(event, Ended)]) == 1
    late = slot.slot.exchange(slot.session, slot.call - 1, slot.acknowledged, sent)
    assert slot.wait(late) == SUPERSEDED
    assert slot.open().running is None


def test_scheduler_with_lower_epoch_is_refused(slot: SlotDriver) -> None:
    slot.epoch += 1
    slot.open()
    with pytest.raises(FencedError, match=r"slot cpu-0 belongs to the scheduler with epoch \d+, not"):
        slot.wait(slot.slot.open(slot.epoch - 1))
    assert slot.result("good").state is TrialState.FINISHED


def test_attempt_ends_when_no_scheduler_calls(slot: SlotDriver) -> None:
    """As on a machine that is cut off, where the attempt would run on although it is repeated elsewhere."""
    slot.begin("sleeps")
    slot.open(abandoned_s=0.3)
    slot.wait(asyncio.sleep(1.0))
    ended = slot.end()
    assert (ended.state, ended.cause, ended.message) == (FAILED, Cause.NODE_LOST, "no scheduler has called for 0.3 s")
    slot.open()
    assert slot.result("good").state is FINISHED


def test_old_session_receives_and_changes_nothing(slot: SlotDriver) -> None:
    old = slot.session
    slot.open()
    late = slot.slot.exchange(old, slot.call + 1, 0, encode_commands([run(slot.assignment("good"))]))
    assert slot.wait(late) == SUPERSEDED
    assert slot.open().running is None


def test_new_session_receives_running_attempts_and_missed_events(slot: SlotDriver) -> None:
    assignment = slot.begin("finishes_though_asked_to_stop")
    assert slot.open().running == assignment.key
    ended = slot.end(stop_command(key_of(assignment)))
    description = slot.open()  # the end was not acknowledged
    assert description.running is None
    assert description.events[-1][1] == ended
    slot.events("good")
    assert all(event.key.trial_id > assignment.trial_id for _, event in slot.open().events)


def test_second_concurrent_attempt_is_refused(slot: SlotDriver) -> None:
    first = slot.begin("sleeps")
    second = slot.assignment("good")
    refused = slot.end(run(first), run(second))
    assert (refused.key, refused.state, refused.cause) == (key_of(second), FAILED, Cause.INFRASTRUCTURE)
    assert "is busy" in refused.message
    assert slot.end(stop_command(key_of(first))).key == key_of(first)
