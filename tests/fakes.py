"""Fakes of the scheduler's ports: a manual clock, controllable slots, and a search without threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podium.sweep.lifecycle.pending_commands import Enqueued
from podium.sweep.lifecycle.scheduler_inbox_messages import (
    Inbox,
    PruneDecision,
    SlotEvents,
    SlotLost,
    SlotOpened,
    StudyAnswered,
    TrialProposed,
)
from podium.sweep.lifecycle.scheduler_interfaces import SearchInputs
from podium.sweep.lifecycle.slot_demand import SlotDemand
from podium.sweep.protocol.scheduler_slot_messages import decode_commands, encode_commands
from podium.sweep.protocol.slot_commands import (
    PruneAnswer,
    SlotCommand,
    StartAttempt,
    StopAttempt,
    StudyAnswer,
    SuggestAnswer,
)
from podium.sweep.search.scheduler_search_threads import answer_suggestion
from podium.sweep.search.sweep_search import Search
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey, Scalar
from podium.sweep.values.device import Device, device_name
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import (
    DeviceReleased,
    Ended,
    Event,
    Logged,
    RankIdle,
    Reported,
    Started,
    StopRequested,
    StoreOpened,
    StudyRequested,
    SuggestRequested,
)
from podium.sweep.values.states import TrialState


class FakeClock:
    """A manual clock; see `podium.sweep.runtime.clock.Clock`."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def advance(self, seconds: float) -> None:
        self.now_s += seconds

    def monotonic_s(self) -> float:
        return self.now_s

    def wall_s(self) -> float:
        return self.now_s


@dataclass
class FakeSlot:
    """The state of a slot: its attempts, and the unacknowledged events."""

    device: Device
    running: Assignment | None = None
    sending: Assignment | None = None  # its process has ended, and its files are on their way
    folders: dict[AttemptKey, str] = field(default_factory=dict)  # the names of those of its attempts
    events: list[tuple[int, Event]] = field(default_factory=list)
    sequence: int = 0
    stops: list[Cause] = field(default_factory=list)
    cancelled: list[AttemptKey] = field(default_factory=list)  # attempts that were stopped while they sent their files
    answers: list[tuple[int, bool]] = field(default_factory=list)
    suggestions: list[tuple[str, Scalar, str]] = field(default_factory=list)  # name, value, error
    study: list[dict[str, Any]] = field(default_factory=list)  # answers to its study queries

    @property
    def key(self) -> AttemptKey | None:
        return None if self.running is None else self.running.key

    def add(self, event: Event) -> None:
        self.sequence += 1
        self.events.append((self.sequence, event))


class FakeElasticPool:
    """Records what the scheduler requests and releases; see `podium.sweep.lifecycle.slot_demand.ElasticPool`."""

    def __init__(self) -> None:
        self.demand = SlotDemand()
        self.released: list[str] = []

    def request(self, demand: SlotDemand) -> None:
        self.demand = demand

    def release(self, device_id: str) -> None:
        self.released.append(device_id)


class FakePool:
    """Slots whose attempts the test controls; see `podium.sweep.lifecycle.scheduler_interfaces.SlotPool`.

    A command to start a second attempt on a busy slot fails the test. Commands are encoded and decoded as for a slot.
    """

    def __init__(
        self, inbox: Inbox, clock: FakeClock, count: int = 1, nodes: Sequence[str] = (), *, per_device: int = 1
    ) -> None:
        """`nodes`: the node of each device; one for all if it is empty. `per_device`: slots of each device."""
        self.inbox = inbox
        self._clock = clock
        named = nodes or ["node"] * count
        devices = [
            _device(position, node, slot, per_device)
            for position, node in enumerate(named)
            for slot in range(per_device)
        ]
        self.slots = {device.device_id: FakeSlot(device) for device in devices}
        self.placed: list[tuple[str, AttemptKey]] = []
        self.killed: list[str] = []
        self.drops_calls = False  # as if the scheduler died before each call
        self.not_received: set[str] = set()  # folders of attempts whose start was dropped, in the data directory

    def __getitem__(self, device_id: str) -> FakeSlot:
        return self.slots[device_id]

    def send(self, device_id: str, acknowledged: int, commands: Sequence[SlotCommand]) -> None:
        if self.drops_calls:
            starts = [command.assignment for command in commands if isinstance(command, StartAttempt)]
            self.not_received.update(assignment.directory for assignment in starts)
            return
        slot = self.slots[device_id]
        slot.events = [(number, event) for number, event in slot.events if number > acknowledged]
        for command in decode_commands(encode_commands(commands)):
            self._execute(slot, command)

    def _execute(self, slot: FakeSlot, command: SlotCommand) -> None:
        if isinstance(command, StartAttempt):
            assert slot.running is None, f"{slot.device.device_id} runs an attempt and gets another one"
            slot.running = command.assignment
            assert slot.key is not None
            slot.folders[slot.key] = Path(command.assignment.directory).name
            self.placed.append((slot.device.device_id, slot.key))
            others = [each for other in self.slots.values() for each in (other.running, other.sending)]
            ranks = [(each.key, each.rank) for each in others if each and each.trial_id == slot.key.trial_id]
            assert len({key for key, _ in ranks}) == 1, "one trial has two attempts"
            assert len(set(ranks)) == len(ranks), "one rank has two processes"
            return
        if slot.sending is not None and command.key == slot.sending.key:
            if isinstance(command, StopAttempt):
                slot.cancelled.append(command.key)
            return
        if slot.key is None or command.key != slot.key:
            return
        if isinstance(command, PruneAnswer):
            slot.answers.append((command.step, command.prune))
        elif isinstance(command, StudyAnswer):
            slot.study.append(command.answer)
        elif isinstance(command, SuggestAnswer):
            slot.suggestions.append((command.name, command.value, command.error))
        else:
            slot.stops.append(command.cause)
            if command.at_once:
                state = TrialState.CANCELLED if command.cause is Cause.CANCELLED else TrialState.FAILED
                self.end(slot.device.device_id, state, cause=command.cause, message=command.message)

    # Actions of a test.

    def busy(self) -> list[str]:
        """The devices with an attempt on them."""
        return [device_id for device_id, slot in self.slots.items() if slot.running is not None]

    def found(self) -> list[SlotOpened]:
        """Every slot as a newly started scheduler finds it."""
        return [
            SlotOpened(
                slot.device,
                slot.key,
                tuple(slot.events),
                None if slot.sending is None else slot.sending.key,
                tuple(slot.folders.items()),
            )
            for slot in self.slots.values()
        ]

    def sending(self) -> list[str]:
        """The devices whose slots send the files of an attempt."""
        return [device_id for device_id, slot in self.slots.items() if slot.sending is not None]

    def stop_replying(self, device_id: str) -> None:
        """The slot sends a heartbeat without events."""
        self.inbox.put(SlotEvents(device_id, ()))

    def start(self, device_id: str) -> None:
        """The process on the slot is up."""
        key = self._key(device_id)
        self._add_event(device_id, Started(key, 4321, self._clock.wall_s(), "", "cpu"))

    def report(self, device_id: str, step: int, value: float) -> None:
        key = self._key(device_id)
        self._add_event(device_id, Reported(key, step, value, self._clock.wall_s()))

    def open_store(self, device_id: str, port: int = 29500) -> None:
        """Rank 0 of an attempt on several devices serves the store."""
        self._add_event(device_id, StoreOpened(self._key(device_id), port))

    def idle(self, device_id: str, *, idle: bool = True) -> None:
        """A rank waits for another one, or no longer does."""
        self._add_event(device_id, RankIdle(self._key(device_id), idle))

    def log(self, device_id: str, step: int, values: dict[str, float]) -> None:
        self._add_event(device_id, Logged(self._key(device_id), step, values, self._clock.wall_s()))

    def request_suggestion(self, device_id: str, name: str, distribution: dict[str, Any], **drawn: Any) -> None:
        """The trial suggests a parameter that the sweep file does not name."""
        self._add_event(device_id, SuggestRequested(self._key(device_id), name, distribution, **drawn))

    def request_study(self, device_id: str, what: str, number: int = 0) -> None:
        """The trial reads its study."""
        self._add_event(device_id, StudyRequested(self._key(device_id), 1, what, number))

    def request_stop(self, device_id: str) -> None:
        """The trial calls `study.stop()`."""
        self._add_event(device_id, StopRequested(self._key(device_id)))

    def end(
        self,
        device_id: str,
        state: TrialState,
        *,
        value: float | None = None,
        cause: Cause | None = None,
        message: str = "as played",
        constraints: dict[str, float] | None = None,
    ) -> Ended:
        """The attempt's process tree is gone, and the slot free."""
        now = self._clock.wall_s()
        event = Ended(
            self._key(device_id), state, now, now, value=value, cause=cause, message=message, exit="0",
            constraints=constraints or {},
        )  # fmt: skip
        self.slots[device_id].running = None
        self._add_event(device_id, event)
        return event

    def end_interval(self, device_id: str, value: float) -> Ended:
        """The attempt has ended its interval of training, with a checkpoint."""
        running, now = self.slots[device_id].running, self._clock.wall_s()
        assert running is not None and running.interval is not None
        step = running.interval.end_after(0)
        event = Ended(self._key(device_id), TrialState.WAITING, now, now, value=value, step=step)
        self.slots[device_id].running = None
        self._add_event(device_id, event)
        return event

    def release(self, device_id: str) -> AttemptKey:
        """The attempt's process tree is gone, and its files are being sent."""
        slot = self.slots[device_id]
        assert slot.sending is None, "a slot sends the files of one attempt at a time"
        key = self._key(device_id)
        slot.running, slot.sending = None, slot.running
        self._add_event(device_id, DeviceReleased(key, self._clock.wall_s()))
        return key

    def end_sending(
        self,
        device_id: str,
        state: TrialState = TrialState.FINISHED,
        *,
        value: float | None = None,
        cause: Cause | None = None,
    ) -> Ended:
        """The files of the attempt have arrived, or cannot be sent."""
        slot, now = self.slots[device_id], self._clock.wall_s()
        assert slot.sending is not None, f"nothing is sent by {device_id}"
        event = Ended(slot.sending.key, state, now, now, value=value, cause=cause, message="as played")
        slot.sending = None
        self._add_event(device_id, event)
        return event

    def finish(self, device_id: str, value: float = 0.5) -> Ended:
        return self.end(device_id, TrialState.FINISHED, value=value)

    def fail(self, device_id: str, cause: Cause = Cause.USER_ERROR, message: str = "as played") -> Ended:
        return self.end(device_id, TrialState.FAILED, cause=cause, message=message)

    def kill(self, device_id: str) -> None:
        """Kill a slot, as a scheduler does with one that does not respond."""
        self.killed.append(device_id)
        self.lose(device_id)

    def lose(self, device_id: str, cause: Cause = Cause.INFRASTRUCTURE) -> None:
        """The slot's process dies with its attempt and its state; the pool creates a new one."""
        self.slots[device_id] = FakeSlot(self.slots[device_id].device)
        self.inbox.put(SlotLost(device_id, "worker lost: as played", cause))
        self.inbox.put(SlotOpened(self.slots[device_id].device))

    def _key(self, device_id: str) -> AttemptKey:
        key = self.slots[device_id].key
        assert key is not None, f"nothing runs on {device_id}"
        return key

    def _add_event(self, device_id: str, event: Event) -> None:
        """Send all unacknowledged events again, as the real slot does."""
        self.slots[device_id].add(event)
        self.inbox.put(SlotEvents(device_id, tuple(self.slots[device_id].events)))


def _device(position: int, node: str, slot: int, per_device: int) -> Device:
    name = device_name("cpu", position, slot=slot)
    return Device(name, "cpu", position, node, "", None, 100 + position, slots=per_device)


class InlineSearcher:
    """Searches synchronously, in the caller's thread; see `podium.sweep.lifecycle.scheduler_interfaces.Searcher`."""

    def __init__(self, sweep_id: int, search_generation: int, search: Search, inbox: Inbox) -> None:
        self._sweep_id = sweep_id
        self.search_generation = search_generation
        self.search = search
        self._inbox = inbox

    def ask(self, enqueued: Enqueued | None = None, deadline_s: float = 2.0) -> None:
        if enqueued is None:
            self._inbox.put(TrialProposed(self._sweep_id, self.search.ask(), 0.0, None, self.search_generation))
        else:
            planned = self.search.ask(enqueued.params, enqueued.distributions)
            self._inbox.put(TrialProposed(self._sweep_id, planned, 0.0, enqueued.enqueued_id, self.search_generation))

    def retry(self, number: int) -> None:
        self.search.retry(number)

    def report(self, number: int, key: AttemptKey, step: int, value: float) -> None:
        verdict = self.search.report(number, step, value)
        if self.search.prunes:
            self._inbox.put(PruneDecision(self._sweep_id, number, key, step, verdict, self.search_generation))

    def suggest(self, number: int, request: SuggestRequested) -> None:
        self._inbox.put(answer_suggestion(self._sweep_id, self.search, number, request, self.search_generation))

    def tell(
        self,
        number: int,
        state: TrialState,
        values: Sequence[float] | None,
        *,
        infeasible: bool = False,
        constraints: Mapping[str, float] | None = None,
    ) -> None:
        self.search.tell(number, state, values, infeasible=infeasible, constraints=constraints)

    def close(self) -> None:
        pass


class InlineSearchers:
    """Opens searchers; `opened` contains the last one of each sweep."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self.opened: dict[int, InlineSearcher] = {}

    def open(self, sweep_id: int, search_generation: int, load: Callable[[], SearchInputs]) -> InlineSearcher:
        self.opened[sweep_id] = InlineSearcher(sweep_id, search_generation, Search(*load()), self._inbox)
        return self.opened[sweep_id]


class InlineStudyReader:
    """Answers study queries of trials synchronously; see `podium.sweep.scheduling.study_query_thread.StudyReader`."""

    def __init__(self, inbox: Inbox, answer: Callable[[int, StudyRequested], dict[str, Any]]) -> None:
        self._inbox = inbox
        self._answer = answer

    def read(self, sweep_id: int, request: StudyRequested) -> None:
        self._inbox.put(StudyAnswered(request, self._answer(sweep_id, request)))
