"""A scheduler on fakes, stepped manually: submit, control the slots, settle, restart."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, Message, SearchFailed, Wake
from podium.sweep.lifecycle.slot_demand import ElasticPool
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.scheduling.read_pacing import TICK_S
from podium.sweep.scheduling.scheduler import Scheduler
from podium.sweep.scheduling.slot_autoscaler import SlotAutoscaler
from podium.sweep.search.sweep_search import Search
from podium.sweep.values.slot_events import StudyRequested
from podium.sweep.values.states import COUNTED_TRIAL_STATES, TERMINAL_TRIAL_STATES, SweepState, TrialState
from tests.fakes import FakeClock, FakePool, InlineSearchers, InlineStudyReader
from tests.memory import MemoryRecorder, MemorySweep, MemoryTrial
from tests.specs import spec

DATA = DataDirectory(Path("data"))


class Rig:
    """A scheduler, and its successors, on the same slots and the same recorder."""

    def __init__(
        self,
        slots: int = 1,
        nodes: Sequence[str] = (),
        *,
        per_device: int = 1,
        elastic: ElasticPool | None = None,
        release_s: float = 300.0,
    ) -> None:
        """A scheduler that has started.

        Args:
            slots: The number of devices.
            nodes: The node of each device; one for all if it is empty.
            per_device: The slots of each device.
            elastic: The pool of which it requests slots; None if they are fixed.
            release_s: Seconds without a trial, after which it releases a slot to that pool.
        """
        self._elastic = None if elastic is None else SlotAutoscaler(elastic, release_s)
        self.clock = FakeClock()
        self.inbox: Inbox = Inbox()
        self.pool = FakePool(self.inbox, self.clock, slots, nodes, per_device=per_device)
        self.recorder = MemoryRecorder()
        self.disk_shortage = ""  # what the scheduler measures
        self.cleaned_up: list[Path] = []  # folders that it had cleaned up
        self.retained: list[int] = []  # sweeps to which it had retention applied
        self.start()

    def start(self) -> None:
        """Start a new scheduler and settle; the in-memory state of the previous one is lost."""
        self.inbox = self.pool.inbox = Inbox()
        self.searchers = InlineSearchers(self.inbox)
        self.scheduler = Scheduler(
            inbox=self.inbox,
            pool=self.pool,
            searchers=self.searchers,
            recorder=self.recorder,
            study=InlineStudyReader(self.inbox, self._study),
            clock=self.clock,
            data=DATA,
            disk_shortage=lambda: self.disk_shortage,
            clean_up=self.cleaned_up.append,
            has_started=lambda folder: DATA.relative(folder) not in self.pool.not_received,
            apply_retention=self.retained.append,
            elastic=self._elastic,
        )
        self.scheduler.adopt(self.pool.found())
        self.settle()

    restart = start

    def _study(self, sweep_id: int, request: StudyRequested) -> dict[str, Any]:
        """The numbers and states of all trials, whatever is asked."""
        return {"trials": [(trial.number, trial.state.value) for trial in self.recorder.of(sweep_id)]}

    def submit(self, **changes: Any) -> MemorySweep:
        """A client submits a sweep, and the scheduler starts it."""
        sweep = self.recorder.sweeps[self.recorder.accept(spec(**changes), self.clock.wall_s())]
        self.settle()
        return self.sweep(sweep.sweep_id)

    def cancel(self, sweep_id: int) -> None:
        """A client cancels a sweep, and the scheduler reads the command."""
        self.recorder.cancel(sweep_id)
        self.settle()

    def settle(self) -> None:
        """Let the scheduler handle everything that is pending."""
        self.inbox.put(Wake())
        while messages := self.receive():
            assert not any(isinstance(message, SearchFailed) for message in messages), messages
            self.scheduler.step(messages)
        if not self.recorder.full and self.scheduler.unwritten:
            self.inbox.put(Wake())
            self.scheduler.step([])
            self.settle()

    def tick(self) -> None:
        """Wait until the scheduler has explained again why sweeps wait and devices are idle."""
        self.clock.advance(TICK_S)
        self.settle()

    def receive(self) -> list[Message]:
        messages: list[Message] = []
        try:
            while True:
                messages.append(self.inbox.get_nowait())
        except queue.Empty:
            return messages

    def finish_all(self, value: float = 0.5, *, rounds: int = 100) -> None:
        """Finish all running trials and their successors, until none runs."""
        for _ in range(rounds):
            for device_id in self.pool.busy():
                self.pool.finish(device_id, value)
            self.settle()
            if not self.pool.busy():
                return
        raise AssertionError(f"still busy after {rounds} rounds")

    def search(self, sweep_id: int = 1) -> Search:
        """The search of a sweep that was last opened."""
        return self.searchers.opened[sweep_id].search

    def sweep(self, sweep_id: int = 1) -> MemorySweep:
        return self.recorder.sweeps[sweep_id]

    def trials(self, sweep_id: int = 1) -> list[MemoryTrial]:
        return self.recorder.of(sweep_id)

    def states(self, sweep_id: int = 1) -> list[TrialState]:
        """The state of each trial, by number."""
        return [trial.state for trial in self.trials(sweep_id)]

    def counted(self, sweep_id: int = 1) -> int:
        return sum(state in COUNTED_TRIAL_STATES for state in self.states(sweep_id))

    def assert_ended(self, state: SweepState, sweep_id: int = 1) -> None:
        """Assert that the sweep ended in this state and no trial of it runs or waits."""
        assert self.sweep(sweep_id).state is state, self.sweep(sweep_id).reason
        assert all(trial_state in TERMINAL_TRIAL_STATES for trial_state in self.states(sweep_id))
        assert all(end is not None for trial in self.trials(sweep_id) for end in trial.attempts.values())
