"""The contract of a slot pool, for a real slot with real processes and for the fake that the scheduler's tests use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, SlotEvents, SlotOpened
from podium.sweep.protocol.slot_commands import PruneAnswer, SlotCommand, StartAttempt, StopAttempt
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey
from podium.sweep.values.device import Device
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Event, Reported, Started
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver
from tests.fakes import FakeClock, FakePool

CODE = Path(__file__).parents[1] / "integration" / "user_code"
DEVICE = "cpu-0"
OTHER = AttemptKey(9999, 1)


class Slots(Protocol):
    """One slot behind the port, with programs to run on it: `good`, `sleeps` and `gives_up_when_told`."""

    inbox: Inbox

    def send(self, device_id: str, acknowledged: int, commands: Sequence[SlotCommand]) -> None: ...

    def opened(self) -> SlotOpened:
        """What a newly started scheduler receives."""
        ...

    def assignment(self, program: str) -> Assignment: ...


class RealSlots:
    """A real slot. Each call is answered before `send` returns."""

    def __init__(self, driver: SlotDriver) -> None:
        self.inbox = Inbox()
        self._driver = driver
        driver.clear()

    def send(self, device_id: str, acknowledged: int, commands: Sequence[SlotCommand]) -> None:
        self._driver.acknowledged = acknowledged
        self.inbox.put(SlotEvents(device_id, self._driver.exchange_numbered(*commands)))

    def opened(self) -> SlotOpened:
        found = self._driver.open()
        device = Device(found.name, found.kind, found.position, found.node, found.visible, found.uuid, found.pid)
        return SlotOpened(device, found.running, found.events, found.sending, found.folders)

    def assignment(self, program: str) -> Assignment:
        return self._driver.assignment(program, prunable=True, params={"x": 0.25, "steps": 3})


class FakeSlots:
    """The fake, with a trial process that acts on each call."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self._pool = FakePool(self.inbox, FakeClock())
        self._trial_id = 0

    def send(self, device_id: str, acknowledged: int, commands: Sequence[SlotCommand]) -> None:
        slot = self._pool[device_id]
        before = slot.running
        self._pool.send(device_id, acknowledged, commands)
        if slot.running is None:
            return
        if before is None:
            slot.answers.clear()
            slot.stops.clear()
            self._pool.start(device_id)
        program = slot.running.program["function"].removeprefix("train:")
        if program == "sleeps" and slot.stops:
            self._pool.end(device_id, TrialState.CANCELLED, cause=slot.stops[0])
        elif program == "good":
            self._pool.report(device_id, 0, 0.25)
            self._pool.finish(device_id, 0.25)
        elif program == "gives_up_when_told":
            self._act_on_answers(device_id)

    def _act_on_answers(self, device_id: str) -> None:
        """Report a step, wait for the answer, and repeat."""
        answers = self._pool[device_id].answers
        if answers and answers[-1][1]:
            self._pool.end(device_id, TrialState.PRUNED)
        elif len(answers) == 3:
            self._pool.finish(device_id)
        else:
            self._pool.report(device_id, len(answers), 0.5)

    def opened(self) -> SlotOpened:
        (found,) = self._pool.found()
        return found

    def assignment(self, program: str) -> Assignment:
        self._trial_id += 1
        return Assignment(1, self._trial_id, 0, 1, {}, 7, "score", {"function": f"train:{program}"}, {}, "/d", "/c")


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlotDriver]:
    opened = SlotDriver(tmp_path_factory.mktemp("slot"), CODE)
    yield opened
    opened.close()


@pytest.fixture(params=["real", "fake"])
def slots(request: pytest.FixtureRequest) -> Slots:
    return FakeSlots() if request.param == "fake" else RealSlots(request.getfixturevalue("driver"))


class Scheduler:
    """Sends commands and acknowledgements, and collects events."""

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.events: list[tuple[int, Event]] = []
        self.acknowledged = max((number for number, _ in slots.opened().events), default=0)

    def send(self, *commands: SlotCommand) -> list[Event]:
        """One call; the new events."""
        self.slots.send(DEVICE, self.acknowledged, commands)
        new: list[tuple[int, Event]] = []
        while not self.slots.inbox.empty():
            message = self.slots.inbox.get()
            assert isinstance(message, SlotEvents) and message.device_id == DEVICE
            new += [numbered for numbered in message.events if numbered[0] > self.acknowledged]
            self.acknowledged = max([self.acknowledged, *(number for number, _ in new)])
        self.events += new
        return [event for _, event in new]

    def until(self, done: Callable[[Event], bool], *commands: SlotCommand) -> Event:
        """Calls until an event fulfils `done`."""
        new = self.send(*commands)
        while not (found := [event for event in new if done(event)]):
            new = self.send()
        return found[0]

    def end(self, *commands: SlotCommand) -> Ended:
        ended = self.until(lambda event: isinstance(event, Ended), *commands)
        assert isinstance(ended, Ended)
        return ended


def test_attempt_starts_and_ends_once_and_frees_the_slot(slots: Slots) -> None:
    scheduler = Scheduler(slots)
    for _ in range(2):
        assignment = slots.assignment("good")
        ended = scheduler.end(StartAttempt(assignment))
        assert (ended.key, ended.state, ended.value) == (assignment.key, TrialState.FINISHED, 0.25)
        events = [event for _, event in scheduler.events if event.key == assignment.key]
        assert isinstance(events[0], Started) and events[-1] is ended
        assert sum(isinstance(event, Started | Ended) for event in events) == 2
        assert slots.opened().running is None


def test_event_numbers_have_no_gaps(slots: Slots) -> None:
    scheduler = Scheduler(slots)
    first = scheduler.acknowledged + 1
    scheduler.end(StartAttempt(slots.assignment("good")))
    assert [number for number, _ in scheduler.events] == list(range(first, first + len(scheduler.events)))


def test_new_scheduler_receives_the_running_attempt_and_unacknowledged_events(slots: Slots) -> None:
    scheduler = Scheduler(slots)
    assignment = slots.assignment("sleeps")
    scheduler.until(lambda event: isinstance(event, Started), StartAttempt(assignment))
    opened = slots.opened()
    assert opened.running == assignment.key
    assert [event for _, event in opened.events if isinstance(event, Started)][-1].key == assignment.key
    successor = Scheduler(slots)
    ended = successor.end(StopAttempt(assignment.key, Cause.CANCELLED))
    assert (ended.key, ended.state, ended.cause) == (assignment.key, TrialState.CANCELLED, Cause.CANCELLED)
    assert slots.opened().events[-1][1] == ended
    successor.end(StartAttempt(slots.assignment("good")))  # acknowledges the end before
    assert ended not in [event for _, event in slots.opened().events]


def test_command_for_another_attempt_has_no_effect(slots: Slots) -> None:
    scheduler = Scheduler(slots)
    assignment = slots.assignment("gives_up_when_told")
    report = scheduler.until(lambda event: isinstance(event, Reported), StartAttempt(assignment))
    assert isinstance(report, Reported)
    wrong: list[SlotCommand] = [StopAttempt(OTHER, Cause.CANCELLED), PruneAnswer(OTHER, report.step, True)]
    event = scheduler.until(
        lambda event: isinstance(event, Reported | Ended), *wrong, PruneAnswer(assignment.key, report.step, False)
    )
    assert isinstance(event, Reported) and event.step == report.step + 1
    ended = scheduler.end(PruneAnswer(assignment.key, event.step, True))
    assert (ended.key, ended.state) == (assignment.key, TrialState.PRUNED)


@pytest.mark.parametrize(("prune_at", "state"), [(1, TrialState.PRUNED), (None, TrialState.FINISHED)])
def test_trial_is_pruned_according_to_the_answer(slots: Slots, prune_at: int | None, state: TrialState) -> None:
    scheduler = Scheduler(slots)
    event = scheduler.until(
        lambda event: isinstance(event, Reported | Ended), StartAttempt(slots.assignment("gives_up_when_told"))
    )
    steps = []
    while isinstance(event, Reported):
        steps.append(event.step)
        answer = PruneAnswer(event.key, event.step, event.step == prune_at)
        event = scheduler.until(lambda event: isinstance(event, Reported | Ended), answer)
    assert isinstance(event, Ended) and event.state is state
    assert steps == ([0, 1] if prune_at == 1 else [0, 1, 2])
