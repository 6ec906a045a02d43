"""A slot on another machine than the head: an attempt waits for its files, and ends when the head has its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from podium.sweep.slots.attempt_files import FilesError
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import DeviceReleased, Ended, Event, Reported, Saved, Started
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver, key_of, run, stop_command
from tests.running_service import wait_for

AHEAD_S = 1000.0
POLL_S = 0.05  # calls return soon, though there are no events


@dataclass
class FakeFiles:
    """Files that travel when the test lets them."""

    log: list[str] = field(default_factory=list)
    arrive: asyncio.Event = field(default_factory=asyncio.Event)
    leave: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None
    clock_offset_s: float = 0.0
    is_local: bool = False
    has_left: bool = True  # whether an attempt leaves something to send

    def fetches(self, assignment: Assignment) -> bool:
        return True

    async def fetch(self, assignment: Assignment) -> None:
        self.log.append("fetch")
        await self.arrive.wait()
        if self.error is not None:
            raise self.error

    def sends(self, assignment: Assignment) -> bool:
        return self.has_left

    async def send(self, assignment: Assignment, *, checkpoints: bool) -> None:
        self.log.append(f"send{' with checkpoints' if checkpoints else ''}")
        await self.leave.wait()
        if self.error is not None:
            raise self.error

    def has_files(self, assignment: Assignment, *, checkpoints: bool) -> bool:
        return True

    async def remove(self, assignment: Assignment, *, checkpoints: bool) -> None:
        self.log.append(f"remove{' with checkpoints' if checkpoints else ''}")


@pytest.fixture
def files(slot: SlotDriver) -> Iterator[FakeFiles]:
    made = FakeFiles()
    with slot.with_options(files=made):
        slot.open(poll_s=POLL_S)
        yield made
        made.error = None
        made.arrive.set()
        made.leave.set()


def wait_until_logged(slot: SlotDriver, files: FakeFiles, count: int) -> None:
    async def waiting() -> None:
        async with asyncio.timeout(30):
            while len(files.log) < count:
                await asyncio.sleep(0.01)

    slot.wait(waiting())


def test_attempt_starts_when_its_files_are_here(slot: SlotDriver, files: FakeFiles) -> None:
    assignment = slot.assignment("good")
    slot.exchange(run(assignment))
    wait_until_logged(slot, files, 1)
    assert slot.attempt_processes() == []
    found = slot.open()
    assert found.running == assignment.key and (assignment.key, Path(assignment.directory).name) in found.folders
    files.arrive.set()
    slot.until(lambda event: isinstance(event, Started))


def test_end_waits_for_the_files(slot: SlotDriver, files: FakeFiles) -> None:
    files.arrive.set()
    assignment = slot.assignment("good")
    slot.until(lambda event: isinstance(event, Started), run(assignment))
    wait_until_logged(slot, files, 2)
    found = slot.open(poll_s=POLL_S)
    assert (found.running, found.sending) == (None, assignment.key)
    files.leave.set()
    ended = slot.end()
    assert ended.state is TrialState.FINISHED
    slot.exchange()  # acknowledges the end
    wait_until_logged(slot, files, 3)
    assert files.log == ["fetch", "send", "remove with checkpoints"]


def test_attempt_that_has_left_nothing_ends_at_once(slot: SlotDriver, files: FakeFiles) -> None:
    files.arrive.set()
    files.has_left = False
    events = slot.until(lambda event: isinstance(event, Ended), run(slot.assignment("good")))
    assert not [event for event in events if isinstance(event, DeviceReleased)]
    slot.exchange()  # acknowledges the end
    wait_until_logged(slot, files, 2)
    assert files.log == ["fetch", "remove with checkpoints"]


@pytest.mark.parametrize("arrives", [True, False])
def test_files_are_removed_after_those_of_the_next_attempt_have_arrived_or_a_second_later(
    slot: SlotDriver, files: FakeFiles, arrives: bool
) -> None:
    files.arrive.set()
    files.has_left = False
    slot.end(run(slot.assignment("good")))
    files.arrive.clear()
    slot.exchange(run(slot.assignment("good")))  # acknowledges the end
    slot.wait(asyncio.sleep(0.1))
    assert files.log == ["fetch", "fetch"]
    if arrives:
        files.arrive.set()
        slot.until(lambda event: isinstance(event, Started))
    wait_until_logged(slot, files, 3)
    assert files.log[2] == "remove with checkpoints"


def test_saved_files_are_reported_when_the_head_has_them(slot: SlotDriver, files: FakeFiles) -> None:
    files.arrive.set()
    slot.until(lambda event: isinstance(event, Started), run(slot.assignment("saves_a_model")))
    wait_until_logged(slot, files, 2)
    assert not [event for _, event in slot.open(poll_s=POLL_S).events if isinstance(event, Saved)]
    files.leave.set()
    kinds = [type(event) for event in slot.until(lambda event: isinstance(event, Ended))]
    assert kinds[-2:] == [Saved, Ended]


def test_attempt_whose_files_do_not_arrive_fails(slot: SlotDriver, files: FakeFiles) -> None:
    files.error = FilesError("the head did not answer", Cause.INFRASTRUCTURE)
    files.arrive.set()
    ended = slot.end(run(slot.assignment("good")))
    assert (ended.state, ended.cause, ended.message) == (
        TrialState.FAILED, Cause.INFRASTRUCTURE, "the head did not answer",
    )  # fmt: skip
    files.error = None
    files.leave.set()
    assert slot.result("good").state is TrialState.FINISHED, "the slot is free"


def test_attempt_whose_files_are_not_sent_has_not_finished(slot: SlotDriver, files: FakeFiles) -> None:
    files.arrive.set()
    slot.until(lambda event: isinstance(event, Started), run(slot.assignment("good")))
    wait_until_logged(slot, files, 2)
    files.error = FilesError("the head did not answer")
    files.leave.set()
    ended = slot.end()
    assert (ended.state, ended.cause) == (TrialState.FAILED, Cause.INFRASTRUCTURE)
    assert ended.message == "the files of the attempt could not be sent: the head did not answer"


def test_unexpected_error_ends_the_attempt_and_not_the_slot(slot: SlotDriver, files: FakeFiles) -> None:
    files.error = RuntimeError("unexpected")
    files.arrive.set()
    assert slot.end(run(slot.assignment("good"))).message == "RuntimeError: unexpected"
    files.error = None
    slot.until(lambda event: isinstance(event, Started), run(slot.assignment("good")))
    files.error = RuntimeError("unexpected")
    files.leave.set()
    assert slot.end().message.endswith("could not be sent: RuntimeError: unexpected")
    files.error = None
    assert slot.result("good").state is TrialState.FINISHED


def test_attempt_is_stopped_while_its_files_arrive(slot: SlotDriver, files: FakeFiles) -> None:
    assignment = slot.assignment("good")
    slot.exchange(run(assignment))
    wait_until_logged(slot, files, 1)
    assert slot.end(stop_command(key_of(assignment))).state is TrialState.CANCELLED
    assert slot.open().running is None


def test_attempt_is_stopped_while_its_files_leave(slot: SlotDriver, files: FakeFiles) -> None:
    files.arrive.set()
    assignment = slot.begin("good")
    wait_until_logged(slot, files, 2)
    ended = slot.end(stop_command(key_of(assignment)))
    assert ended.state is TrialState.CANCELLED
    assert slot.open().sending is None


def test_next_attempt_runs_while_files_leave(slot: SlotDriver, files: FakeFiles) -> None:
    files.arrive.set()
    first = slot.assignment("good")
    slot.until(lambda event: isinstance(event, DeviceReleased), run(first))
    second = slot.begin("sleeps")
    found = slot.open(poll_s=POLL_S)
    assert (found.running, found.sending) == (second.key, first.key)
    files.leave.set()
    ended = slot.end()
    assert (ended.key, ended.state) == (first.key, TrialState.FINISHED)
    assert slot.end(stop_command(second.key)).key == second.key


def test_one_attempt_at_a_time_sends_its_files(slot: SlotDriver, files: FakeFiles) -> None:
    files.arrive.set()
    first, second = slot.assignment("good"), slot.assignment("good")
    slot.until(lambda event: isinstance(event, DeviceReleased), run(first))
    slot.until(lambda event: isinstance(event, Started), run(second))
    wait_for("its process has ended", lambda: not slot.exchange() and not slot.attempt_processes())
    found = slot.open(poll_s=POLL_S)
    assert (found.running, found.sending, found.events) == (second.key, first.key, ()), "it keeps the device"
    files.leave.set()
    events = slot.until(lambda event: isinstance(event, Ended) and event.key == second.key)
    order = [(type(event), event.key) for event in events if isinstance(event, DeviceReleased | Ended)]
    assert order == [(Ended, first.key), (DeviceReleased, second.key), (Ended, second.key)]


def test_attempt_is_stopped_while_it_waits_to_send_its_files(slot: SlotDriver, files: FakeFiles) -> None:
    files.arrive.set()
    first, second = slot.assignment("good"), slot.assignment("good")
    slot.until(lambda event: isinstance(event, DeviceReleased), run(first))
    slot.until(lambda event: isinstance(event, Started), run(second))
    wait_for("its process has ended", lambda: not slot.exchange() and not slot.attempt_processes())
    ended = slot.end(stop_command(second.key))
    assert (ended.key, ended.state) == (second.key, TrialState.CANCELLED)
    found = slot.open(poll_s=POLL_S)
    assert (found.running, found.sending) == (None, first.key)


def test_checkpoints_of_a_failed_attempt_are_sent(slot: SlotDriver, files: FakeFiles) -> None:
    files.arrive.set()
    files.leave.set()
    assert slot.result("fails").state is TrialState.FAILED
    assert files.log[:2] == ["fetch", "send with checkpoints"]


def test_times_are_those_of_the_head(slot: SlotDriver, files: FakeFiles) -> None:
    files.arrive.set()
    files.leave.set()
    here = slot.events("good")
    files.clock_offset_s = AHEAD_S
    there = slot.events("good")
    for before, after in zip(_times(here), _times(there), strict=True):
        assert after - before == pytest.approx(AHEAD_S, abs=60.0)


def _times(events: list[Event]) -> list[float]:
    found = []
    for event in events:
        if isinstance(event, Started | Reported | DeviceReleased):
            found.append(event.at)
        elif isinstance(event, Ended):
            found += [event.started_at, event.ended_at]
    return found
