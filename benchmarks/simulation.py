"""Slots and a search on a simulated clock, for the real scheduler: nothing runs, time is advanced.

The scheduler's own steps are real, and their duration is added to the simulated clock, in which the scheduler is one
thread and the search another. The overhead of Ray and of the trial processes is excluded, and for slots on
nodes the network is a constant delay.
"""

from __future__ import annotations

import gc
import heapq
import itertools
import queue
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from podium.db.schema.migrate import migrate
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.stores import sweeps
from podium.sweep.lifecycle.pending_commands import Enqueued
from podium.sweep.lifecycle.scheduler_inbox_messages import (
    Inbox,
    Message,
    PruneDecision,
    SlotEvents,
    SlotOpened,
    TrialProposed,
    Wake,
)
from podium.sweep.lifecycle.scheduler_interfaces import SearchInputs
from podium.sweep.protocol.slot_commands import SlotCommand, StartAttempt
from podium.sweep.ray_cluster.ray_slots import SlotTimings
from podium.sweep.runtime.garbage_collection import collect_rarely
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.scheduling.scheduler import Scheduler
from podium.sweep.scheduling.study_query_thread import StudyThread
from podium.sweep.search.scheduler_search_threads import answer_suggestion
from podium.sweep.search.sweep_search import Search
from podium.sweep.slots.scheduler_call_fencing import POLL_S
from podium.sweep.slots.slot import FLUSH_S
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey
from podium.sweep.values.device import Device
from podium.sweep.values.slot_events import DeviceReleased, Ended, Event, Started, SuggestRequested
from podium.sweep.values.states import TrialState

NETWORK_S = 0.001  # a message between the head and a node takes this long
SENT_S = 0.03  # the files of an attempt on a node are stored this long after its device is free


class SimulatedClock:
    """See `podium.sweep.runtime.clock.Clock`."""

    def __init__(self) -> None:
        self.now_s = 1e9

    def monotonic_s(self) -> float:
        return self.now_s

    def wall_s(self) -> float:
        return self.now_s


class Agenda:
    """Scheduled events, by time."""

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self.doing_s: float | None = None  # the time of the event that takes place; the clock may be a step ahead

    def add(self, at_s: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._entries, (at_s, next(self._order), action))

    def next_s(self) -> float:
        """The time of the next event; infinity if there is none."""
        return self._entries[0][0] if self._entries else float("inf")

    def do_until(self, now_s: float) -> None:
        while self._entries and self._entries[0][0] <= now_s:
            self.doing_s, _, action = heapq.heappop(self._entries)
            action()
        self.doing_s = None


@dataclass(slots=True)
class _Slot:
    """The events that `podium.sweep.slots.slot` keeps; `waiting`: a call of the scheduler waits for more."""

    device: Device
    waiting: bool = False
    call: int = 0
    sequence: int = 0
    events: list[tuple[int, Event]] = field(default_factory=list)


def _device(number: int, slots_of_node: int) -> Device:
    """A slot of the head, or of one of the nodes with this number of slots each."""
    if not slots_of_node:
        return Device(f"cpu-{number}", "cpu", number, "node", "", None, 100 + number)
    node, position = divmod(number, slots_of_node)
    return Device(f"n{node}:cpu-{position}", "cpu", position, f"node-{node}", "", None, 100 + position)


class SimulatedSlots:
    """A `scheduler_inbox_messages.SlotPool`; commands of the scheduler take effect at the end of its step.

    With `slots_of_node`, all slots are on nodes: messages take `NETWORK_S`, an idle slot sends its heartbeat every two
    seconds, and the end of an attempt follows the release of its device after `SENT_S`.
    """

    def __init__(
        self, count: int, inbox: Inbox, clock: SimulatedClock, agenda: Agenda, trial_s: float, slots_of_node: int = 0
    ) -> None:
        self._inbox = inbox
        self._clock = clock
        self._agenda = agenda
        self._trial_s = trial_s
        self._remote = slots_of_node > 0
        self._network_s = NETWORK_S if self._remote else 0.0
        self._poll_s = SlotTimings().remote_poll_s if self._remote else POLL_S
        devices = (_device(number, slots_of_node) for number in range(count))
        self._slots = {device.device_id: _Slot(device) for device in devices}
        self._sent: list[tuple[_Slot, int, list[SlotCommand]]] = []
        self.durations_s: list[float] = []  # of the trials, in the order in which they started
        self.ended = 0

    def opened(self) -> list[SlotOpened]:
        return [SlotOpened(slot.device) for slot in self._slots.values()]

    def send(self, device_id: str, acknowledged: int, commands: Sequence[SlotCommand]) -> None:
        self._sent.append((self._slots[device_id], acknowledged, list(commands)))

    def kill(self, device_id: str) -> None:
        raise AssertionError(f"{device_id} sends a heartbeat every {self._poll_s:g} s, and is never stuck")

    def take_effect(self) -> None:
        """The step is over: slots receive its commands."""
        for slot, acknowledged, commands in self._sent:
            slot.events = [(number, event) for number, event in slot.events if number > acknowledged]
            slot.waiting = True
            for command in commands:
                assert isinstance(command, StartAttempt), command
                self._run(slot, command.assignment)
            self._answer(slot)
            slot.call += 1
            if slot.waiting:
                self._agenda.add(self._clock.now_s + self._poll_s, partial(self._poll, slot, slot.call))
        self._sent.clear()

    def _run(self, slot: _Slot, assignment: Assignment) -> None:
        key = assignment.key
        duration_s = self._trial_s * random.Random(key.trial_id).uniform(0.9, 1.1)
        self.durations_s.append(duration_s)
        start_s = self._clock.now_s + self._network_s
        started = Started(key, 4321, start_s, "", "cpu")
        value = float(assignment.params["x"] or 0.0)
        ended = Ended(
            key, TrialState.FINISHED, start_s, start_s + duration_s, value=value, message="", exit="0", pid=4321
        )  # fmt: skip
        self._agenda.add(start_s + FLUSH_S, lambda: self._tell(slot, started))
        if self._remote:
            released = DeviceReleased(key, start_s + duration_s)
            self._agenda.add(start_s + duration_s, lambda: self._tell(slot, released))
            self._agenda.add(start_s + duration_s + SENT_S, lambda: self._tell(slot, ended))
        else:
            self._agenda.add(start_s + duration_s, lambda: self._tell(slot, ended))

    def _tell(self, slot: _Slot, event: Event) -> None:
        self.ended += isinstance(event, Ended)
        slot.sequence += 1
        slot.events.append((slot.sequence, event))
        self._answer(slot)

    def _poll(self, slot: _Slot, call: int) -> None:
        """A call without events, which is a heartbeat of the slot."""
        if slot.waiting and slot.call == call:
            self._put(slot)

    def _answer(self, slot: _Slot) -> None:
        if slot.waiting and slot.events:
            self._put(slot, *slot.events)

    def _put(self, slot: _Slot, *events: tuple[int, Event]) -> None:
        slot.waiting = False
        message = SlotEvents(slot.device.device_id, events)
        if self._remote:
            sent_s = self._clock.now_s if self._agenda.doing_s is None else self._agenda.doing_s
            self._agenda.add(sent_s + self._network_s, lambda: self._inbox.put(message))
        else:
            self._inbox.put(message)


class SimulatedSearch:
    """A `scheduler_inbox_messages.Searcher`: asks immediately, and answers when another thread would have answered."""

    def __init__(
        self, sweep_id: int, search_generation: int, search: Search, inbox: Inbox, clock: SimulatedClock, agenda: Agenda
    ) -> None:
        self._sweep_id = sweep_id
        self._search_generation = search_generation
        self._search = search
        self._inbox = inbox
        self._clock = clock
        self._agenda = agenda
        self._answers: list[tuple[float, Message | None]] = []
        self._free_s = 0.0
        self.spent_s = 0.0
        self.spent_cpu_s = 0.0

    def ask(self, enqueued: Enqueued | None = None, deadline_s: float = 2.0) -> None:
        took_s, planned = self._timed(lambda: self._search.ask(None if enqueued is None else enqueued.params))
        self._answers.append(
            (took_s, TrialProposed(self._sweep_id, planned, took_s, search_generation=self._search_generation))
        )

    def retry(self, number: int) -> None:
        self._timed(lambda: self._search.retry(number))

    def report(self, number: int, key: AttemptKey, step: int, value: float) -> None:
        took_s, verdict = self._timed(lambda: self._search.report(number, step, value))
        decision = PruneDecision(self._sweep_id, number, key, step, verdict, self._search_generation)
        self._answers.append((took_s, decision if self._search.prunes else None))

    def suggest(self, number: int, request: SuggestRequested) -> None:
        self._answers.append(
            self._timed(
                lambda: answer_suggestion(self._sweep_id, self._search, number, request, self._search_generation)
            )
        )

    def tell(
        self,
        number: int,
        state: TrialState,
        values: Sequence[float] | None,
        *,
        infeasible: bool = False,
        constraints: Mapping[str, float] | None = None,
    ) -> None:
        took_s, _ = self._timed(
            lambda: self._search.tell(number, state, values, infeasible=infeasible, constraints=constraints)
        )
        self._answers.append((took_s, None))

    def close(self) -> None:
        pass

    def take_effect(self) -> None:
        """The step is over: the search thread starts or continues."""
        for took_s, message in self._answers:
            self._free_s = max(self._free_s, self._clock.now_s) + took_s
            if message is not None:
                self._agenda.add(self._free_s, lambda message=message: self._inbox.put(message))  # type: ignore[misc]
        self._answers.clear()

    def _timed(self, work: Callable[[], Any]) -> tuple[float, Any]:
        began, began_cpu = time.perf_counter(), time.process_time()
        result = work()
        took_s = time.perf_counter() - began
        self.spent_s += took_s
        self.spent_cpu_s += time.process_time() - began_cpu
        return took_s, result


class _Searchers:
    """See `podium.sweep.lifecycle.scheduler_interfaces.Searchers`; for one sweep."""

    def __init__(self, inbox: Inbox, clock: SimulatedClock, agenda: Agenda) -> None:
        self._ports = (inbox, clock, agenda)
        self.opened: SimulatedSearch | None = None

    def open(self, sweep_id: int, search_generation: int, load: Callable[[], SearchInputs]) -> SimulatedSearch:
        self.opened = SimulatedSearch(sweep_id, search_generation, Search(*load()), *self._ports)
        return self.opened


# Receives the number of ended trials, and the processor seconds of the scheduler and of the search so far.
Progress = Callable[[int, float, float], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a simulated sweep."""

    efficiency: float  # the shortest possible time of these trials on this number of slots, divided by the actual time
    step_ms: float  # of the scheduler per trial, including the disk
    cpu_ms: float  # of the scheduler, per trial
    search_ms: float  # of the search thread, per trial
    steps: int


@contextmanager
def _collecting_garbage_rarely() -> Iterator[None]:
    """Garbage collection as in the scheduler process; afterwards as before, but for what the caller had frozen."""
    before, had_frozen = gc.get_threshold(), gc.get_freeze_count() > 0
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not had_frozen:
            gc.unfreeze()


@_collecting_garbage_rarely()
def simulate(
    folder: Path,
    slots: int,
    trials: int,
    trial_s: float,
    method: str = "random",
    progress: Progress | None = None,
    slots_of_node: int = 0,
) -> Outcome:
    """Run a sweep of `trials` trials of about `trial_s` seconds to its end. Raises `RuntimeError` if it gets stuck.

    `progress` is called after each step of the scheduler. With `slots_of_node` all slots are on nodes.
    """
    path = folder / "podium.sqlite3"
    migrate(path)
    database = SqliteDatabase(path)
    clock, agenda, inbox = SimulatedClock(), Agenda(), Inbox()
    pool = SimulatedSlots(slots, inbox, clock, agenda, trial_s, slots_of_node)
    searchers = _Searchers(inbox, clock, agenda)
    recorder = DatabaseRecorder(database)
    scheduler = Scheduler(
        inbox=inbox,
        pool=pool,
        searchers=searchers,
        recorder=recorder,
        study=StudyThread(inbox, recorder.read_study),
        clock=clock,
        data=DataDirectory(folder),
    )
    scheduler.adopt(pool.opened())
    pool.take_effect()
    with database.write() as connection:
        sweeps.accept(connection, _spec(trials, method), clock.wall_s())
    inbox.put(Wake())
    began_s, spent_s, cpu_s, steps = clock.now_s, 0.0, 0.0, 0
    while pool.ended < trials or not inbox.empty():
        agenda.do_until(clock.now_s)
        messages = _waiting(inbox)
        if not messages:
            if agenda.next_s() == float("inf"):
                raise RuntimeError(f"no further events after {pool.ended} of {trials} trials")
            if not _advance(clock, agenda, scheduler.wait_s()):
                continue
        took_s, took_cpu_s = _timed_step(scheduler, messages, searchers)
        clock.now_s += took_s
        spent_s, cpu_s, steps = spent_s + took_s, cpu_s + took_cpu_s, steps + 1
        pool.take_effect()
        if searchers.opened is not None:
            searchers.opened.take_effect()
        if progress is not None:
            progress(pool.ended, cpu_s, _spent(searchers.opened)[1])
    database.close()
    return Outcome(
        efficiency=least_s(pool.durations_s, slots) / (clock.now_s - began_s),
        step_ms=1e3 * spent_s / trials,
        cpu_ms=1e3 * cpu_s / trials,
        search_ms=1e3 * _spent(searchers.opened)[0] / trials,
        steps=steps,
    )


def _advance(clock: SimulatedClock, agenda: Agenda, wait_s: float) -> bool:
    """Advance to the next event, or by `wait_s` if that is earlier; returns whether the wait is over."""
    until_s = clock.now_s + wait_s
    clock.now_s = min(agenda.next_s(), until_s)
    return clock.now_s == until_s


def _timed_step(scheduler: Scheduler, messages: Sequence[Message], searchers: _Searchers) -> tuple[float, float]:
    """Duration and processor time of a step, in seconds, without those of the search: it has a thread of its own."""
    search_s, search_cpu_s = _spent(searchers.opened)
    began, cpu_began = time.perf_counter(), time.process_time()
    scheduler.step(messages)
    took_s, took_cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
    search_now_s, search_cpu_now_s = _spent(searchers.opened)
    return took_s - (search_now_s - search_s), took_cpu_s - (search_cpu_now_s - search_cpu_s)


def least_s(durations_s: Sequence[float], slots: int) -> float:
    """The duration of these trials, in this order, if each free slot gets its next trial immediately."""
    free = [0.0] * slots
    for duration_s in durations_s:
        heapq.heapreplace(free, free[0] + duration_s)
    return max(free)


def _spent(search: SimulatedSearch | None) -> tuple[float, float]:
    return (0.0, 0.0) if search is None else (search.spent_s, search.spent_cpu_s)


def _waiting(inbox: Inbox) -> list[Message]:
    messages: list[Message] = []
    while True:
        try:
            messages.append(inbox.get_nowait())
        except queue.Empty:
            return messages


def _spec(trials: int, method: str) -> Any:
    return parse_spec(
        {
            "name": "simulated",
            "method": method,
            "metric": {"name": "score", "goal": "minimize"},
            "parameters": {name: {"min": -1.0, "max": 1.0} for name in "xyz"},
            "run_cap": trials,
            "program": {"function": "sleeping:objective"},
        }
    )
