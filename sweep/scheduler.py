"""The loop: hand ready trials to free slots, hear what became of them, tell the search, write it down.

One thread, one inbox, no waiting inside: Ray and Optuna work elsewhere and send messages. Each step handles what
came, decides, writes all of it in one transaction, and only then acts on the slots: what a slot is told to do is
always in the database first, and an event is acknowledged only when it is.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Iterable

from sweep.changes import (
    ArtifactSaved,
    AttemptEnded,
    AttemptPlaced,
    AttemptStarted,
    Change,
    MetricPoint,
    SearchNotes,
    StoredSweep,
    SweepChanged,
    TrialDropped,
    TrialPlanned,
)
from sweep.clock import Clock
from sweep.errors import DatabaseError
from sweep.fairness import Claim, choose
from sweep.layout import DataDirectory
from sweep.ledger import Ledger, Slot
from sweep.live import LiveSweep, LiveTrial, past_trials
from sweep.messages import (
    Asked,
    Inbox,
    Judged,
    Message,
    Recorder,
    Searchers,
    SearchFailed,
    SlotLost,
    SlotNews,
    SlotOpened,
    SlotPool,
    Stop,
    Wake,
)
from sweep.search import Search
from sweep.trial import (
    SWEEP_OVER,
    AttemptKey,
    Cause,
    Ended,
    Event,
    Logged,
    Reported,
    Saved,
    Started,
    SweepState,
    TrialState,
    check_sweep_transition,
)

TICK_S = 1.0  # how often to look at the database when nobody wakes us
log = logging.getLogger("podium.scheduler")


class Scheduler:
    """See the module."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        pool: SlotPool,
        searchers: Searchers,
        recorder: Recorder,
        clock: Clock,
        data: DataDirectory,
        threads: int = 1,
    ) -> None:
        self._inbox = inbox
        self._pool = pool
        self._searchers = searchers
        self._recorder = recorder
        self._clock = clock
        self._data = data
        self._threads = threads  # of a trial, where the sweep does not say
        self._ledger = Ledger()
        self._sweeps: dict[int, LiveSweep] = {}
        self._forgotten: set[int] = set()  # sweeps that are over, while the database does not know it yet
        self._trials: dict[int, LiveTrial] = {}  # those that are not over, by trial id
        self._changes: list[Change] = []
        self._last_trial_id = recorder.last_trial_id()
        self._stopping = False
        self._looked_s = -TICK_S
        self._slots_changed = threading.Condition()

    def wait_for_slots(self, count: int) -> None:
        """Return, in any thread, when `count` slots are open."""
        with self._slots_changed:
            self._slots_changed.wait_for(lambda: len(self._ledger) >= count)

    # The loop.

    def run(self, *, stop_within_s: float = 6.0) -> None:
        """Work until a `Stop` message; then end what runs, so that the database tells the truth."""
        deadline: float | None = None
        while True:
            self.step(self._receive())
            if self._stopping:
                deadline = deadline or self._clock.monotonic_s() + stop_within_s
                if not self._ledger.busy() or self._clock.monotonic_s() > deadline:
                    break
        self._park()

    def step(self, messages: Iterable[Message]) -> None:
        """Handle what came, decide, write, act."""
        for message in messages:
            self._handle(message)
        if not self._stopping:
            self._look_for_sweeps()
            self._place()
            self._end_sweeps()
            self._explain_waits()
        if self._record():
            self._ledger.send(self._pool)
            self._plan()

    def _receive(self) -> list[Message]:
        try:
            messages = [self._inbox.get(timeout=TICK_S)]
        except queue.Empty:
            return []
        while True:
            try:
                messages.append(self._inbox.get_nowait())
            except queue.Empty:
                return messages

    def _handle(self, message: Message) -> None:
        if isinstance(message, SlotNews):
            self._hear_slot(message)
        elif isinstance(message, Asked):
            self._hear_ask(message)
        elif isinstance(message, Judged):
            self._hear_verdict(message)
        elif isinstance(message, SlotOpened):
            self._open_slot(message)
        elif isinstance(message, SlotLost):
            self._lose_slot(message)
        elif isinstance(message, SearchFailed):
            self._fail_sweep(message.sweep_id, f"the search failed: {message.reason}")
        elif isinstance(message, Wake):
            self._looked_s = -TICK_S
        elif isinstance(message, Stop):
            self._begin_stop()

    # Slots.

    def adopt(self, found: Iterable[SlotOpened]) -> None:
        """Reconcile at start with the slots that outlived the scheduler before us.

        What they finished meanwhile counts, what they run goes on, and what the database calls running but no
        slot knows is lost, and tried again.
        """
        self._look_for_sweeps()
        for message in found:
            self._open_slot(message)
        for trial in list(self._trials.values()):
            if trial.device_id is None and self._current(trial.key) is trial:
                reason = "lost while the scheduler was away"
                self._end_attempt(trial, self._ended(trial, Cause.INFRASTRUCTURE, reason))
        self.step([])

    def _open_slot(self, message: SlotOpened) -> None:
        """Take a slot into the ledger; what it ran before we came is ours if the database says so too."""
        slot = self._ledger.open(message.device)
        self._changes.append(slot.shown(self._clock.wall_s()))
        with self._slots_changed:
            self._slots_changed.notify_all()
        if message.running is not None:
            self._adopt_attempt(slot, message.running)
        self._hear_slot(SlotNews(message.device.device_id, message.events))

    def _adopt_attempt(self, slot: Slot, key: AttemptKey) -> None:
        trial = self._current(key)
        if trial is None:
            slot.drop(key)
        else:
            self._sweeps[trial.sweep_id].adopt(trial, slot.device.device_id)
            slot.trial = trial

    def _lose_slot(self, message: SlotLost) -> None:
        slot = self._ledger.get(message.device_id)
        if slot is None or slot.lost:
            return
        slot.lost = True
        self._changes.append(slot.changed("lost", message.reason, self._clock.wall_s()))
        if slot.trial is not None:
            self._end_attempt(slot.trial, self._ended(slot.trial, Cause.INFRASTRUCTURE, message.reason))

    def _hear_slot(self, message: SlotNews) -> None:
        slot = self._ledger.get(message.device_id)
        if slot is None:
            return
        slot.answered = True
        for number, event in message.events:
            if number > slot.acknowledged:
                slot.acknowledged = number
                self._hear_event(slot, event)

    def _hear_event(self, slot: Slot, event: Event) -> None:
        trial = self._current(event.key)
        if trial is None:
            if isinstance(event, Ended) and event.key == slot.ending:
                slot.ending = None
            else:
                log.warning("dropped: %s of trial %d, attempt %d", event.kind, event.key.trial_id, event.key.attempt)
            return
        if isinstance(event, Started):
            self._changes.append(AttemptStarted(event))
        elif isinstance(event, Reported):
            self._hear_report(slot, trial, event)
        elif isinstance(event, Logged):
            self._changes += [MetricPoint(event.key, n, event.step, v, event.at) for n, v in event.values.items()]
        elif isinstance(event, Saved):
            self._changes.append(ArtifactSaved(event))
        elif isinstance(event, Ended):
            self._end_attempt(trial, event)

    def _hear_report(self, slot: Slot, trial: LiveTrial, event: Reported) -> None:
        sweep = self._sweeps[trial.sweep_id]
        self._changes.append(MetricPoint(event.key, sweep.spec.metric.name, event.step, event.value, event.at))
        if event.step in trial.reported:  # a repeated attempt: the search has judged this step
            slot.answer(event.key, event.step, prune=False)
            return
        trial.reported.add(event.step)
        assert sweep.searcher is not None
        sweep.searcher.report(trial.number, event.key, event.step, event.value)

    def _end_attempt(self, trial: LiveTrial, event: Ended) -> None:
        """Free the slot; the trial is over, or waits for its next attempt."""
        sweep = self._sweeps[trial.sweep_id]
        if trial.device_id is not None:
            self._ledger[trial.device_id].trial = None
            sweep.unplace(trial)
        interrupted = self._stopping and event.state is TrialState.CANCELLED
        failed = event.state is TrialState.FAILED
        if interrupted or (failed and trial.may_retry(event, sweep.spec)):
            self._changes.append(AttemptEnded(event, sweep.sweep_id, trial.number, TrialState.WAITING))
            sweep.ready.appendleft(trial)
            return
        self._changes.append(AttemptEnded(event, sweep.sweep_id, trial.number, event.state))
        del self._trials[trial.trial_id], sweep.trials[trial.number]
        sweep.count(event)
        assert sweep.searcher is not None
        sweep.searcher.tell(trial.number, event.state, event.value)
        self._react(sweep, event)

    def _react(self, sweep: LiveSweep, event: Ended) -> None:
        """Stop a sweep that has what it wants, or that only fails."""
        metric = sweep.spec.metric
        if sweep.state is not SweepState.RUNNING:
            return
        if event.state is TrialState.FINISHED and event.value is not None and metric.reached(event.value):
            sweep.stop_reason = f"{metric.name} reached its target {metric.target:g}"
            self._set_state(sweep, SweepState.STOPPING, sweep.stop_reason)
        elif sweep.failures_in_a_row >= sweep.spec.retries.max_consecutive_failures:
            reason = f"{sweep.failures_in_a_row} trials in a row failed, the last one with {sweep.last_failure}"
            self._fail_sweep(sweep.sweep_id, reason)

    # Search.

    def _hear_ask(self, message: Asked) -> None:
        sweep = self._sweeps.get(message.sweep_id)
        if sweep is None:
            return
        sweep.asking -= 1
        sweep.mean_ask_s += 0.2 * (message.took_s - sweep.mean_ask_s)
        planned = message.planned
        if planned is None:
            sweep.exhausted = True
            return
        self._last_trial_id += 1
        trial = LiveTrial(self._last_trial_id, sweep.sweep_id, planned.number, planned.params)
        self._trials[trial.trial_id] = sweep.trials[trial.number] = trial
        sweep.ready.append(trial)
        self._changes.append(
            TrialPlanned(
                trial.trial_id, sweep.sweep_id, trial.number, trial.params, planned.sampler,
                planned.attributes, self._clock.wall_s(),
            )
        )  # fmt: skip

    def _hear_verdict(self, message: Judged) -> None:
        if message.verdict.attributes:  # also when the attempt is over: a rebuilt search must find them
            self._changes.append(SearchNotes(message.key.trial_id, message.verdict.attributes))
        trial = self._current(message.key)
        if trial is not None and trial.device_id is not None:
            self._ledger[trial.device_id].answer(message.key, message.step, message.verdict.prune)

    def _plan(self) -> None:
        """Ask ahead, so that a slot that comes free finds its next trial ready."""
        if self._stopping:
            return
        free, slots = len(self._ledger.free()), len(self._ledger.open_to_trials())
        for sweep in self._sweeps.values():
            for _ in range(sweep.asks_wanted(free, slots)):
                sweep.asking += 1
                assert sweep.searcher is not None
                sweep.searcher.ask()

    # Placement.

    def _place(self) -> None:
        """Give each free slot a ready trial of the sweep whose turn it is."""
        only = len(self._ledger.open_to_trials()) == 1
        for slot in self._ledger.free():
            ready = {
                sweep.sweep_id: trial
                for sweep in self._sweeps.values()
                if (trial := sweep.next_for(slot.device, only=only)) is not None
            }
            sweeps = [self._sweeps[sweep_id] for sweep_id in ready]
            chosen = choose(Claim(s.sweep_id, s.running, s.spec.resources.max_concurrent) for s in sweeps)
            if chosen is not None:
                self._start(slot, self._sweeps[chosen], ready[chosen])

    def _start(self, slot: Slot, sweep: LiveSweep, trial: LiveTrial) -> None:
        device = slot.device
        sweep.place(trial, device.device_id)
        slot.trial = trial
        if sweep.state is SweepState.QUEUED:
            self._set_state(sweep, SweepState.RUNNING, "")
        at = self._clock.wall_s()
        self._changes.append(AttemptPlaced(trial.key, sweep.sweep_id, trial.number, device.device_id, device.node, at))
        assignment = sweep.assignment(trial, self._data, self._threads)
        slot.commands.append({"kind": "run", "assignment": assignment.to_dict()})

    def _dedicate(self, devices: dict[str, str]) -> None:
        """Set devices aside for ensembles, and take back those that are not dedicated any more."""
        at = self._clock.wall_s()
        self._changes += [slot.shown(at) for slot in self._ledger.dedicate(devices) if not slot.lost]

    def _explain_waits(self) -> None:
        """A sweep that no device is left for says so, as long as it is so."""
        for sweep in self._sweeps.values():
            fitting = [slot for slot in self._ledger if not slot.lost and sweep.fits(slot.device)]
            taken = [f"{slot.device.device_id} is {slot.dedicated}" for slot in fitting if slot.dedicated]
            waits = sweep.wants_more and not sweep.running and fitting and len(taken) == len(fitting)
            reason = f"no device is left for trials: {'; '.join(taken)}" if waits else ""
            if reason != sweep.waits_for:
                sweep.waits_for = reason
                self._changes.append(SweepChanged(sweep.sweep_id, sweep.state, reason, self._clock.wall_s()))

    # Sweeps.

    def _look_for_sweeps(self) -> None:
        """Take in new sweeps, and those that a scheduler before us left; drop cancelled ones."""
        now = self._clock.monotonic_s()
        if now - self._looked_s < TICK_S:
            return
        self._looked_s = now
        try:
            self._dedicate(self._recorder.dedicated_devices())
            for sweep_id in self._recorder.cancelled(frozenset(self._sweeps)):
                self._end_trials(self._sweeps[sweep_id])
                self._forget(self._sweeps[sweep_id])
            for stored in self._recorder.open_sweeps(frozenset(self._sweeps) | self._forgotten):
                self._take_in(stored)
        except DatabaseError as error:
            log.error("%s; trying again", error)

    def _take_in(self, stored: StoredSweep) -> None:
        sweep = LiveSweep(stored)
        sweep.searcher = self._searchers.open(sweep.sweep_id, Search(sweep.spec, past_trials(stored)))
        self._sweeps[sweep.sweep_id] = sweep
        self._trials |= {trial.trial_id: trial for trial in sweep.trials.values()}
        if sweep.state in SWEEP_OVER:  # cancelled while there was no scheduler to end its trials
            self._end_trials(sweep)
            self._forget(sweep)

    def _end_sweeps(self) -> None:
        for sweep in [sweep for sweep in self._sweeps.values() if sweep.has_ended]:
            state, reason = sweep.why_ended()
            if sweep.state is SweepState.QUEUED:
                self._set_state(sweep, SweepState.RUNNING, "")
            self._set_state(sweep, state, reason)
            self._forget(sweep)

    def _fail_sweep(self, sweep_id: int, reason: str) -> None:
        sweep = self._sweeps.get(sweep_id)
        if sweep is not None:
            self._end_trials(sweep)
            self._set_state(sweep, SweepState.FAILED, reason)
            self._forget(sweep)

    def _end_trials(self, sweep: LiveSweep) -> None:
        """Kill what runs and record it at once: what the slots say of it later no longer counts."""
        for trial in sweep.begun():
            if trial.device_id is not None:
                self._ledger[trial.device_id].drop(trial.key)
            event = self._ended(trial, Cause.CANCELLED, "its sweep was ended")
            self._changes.append(AttemptEnded(event, sweep.sweep_id, trial.number, TrialState.CANCELLED))
            del self._trials[trial.trial_id], sweep.trials[trial.number]

    def _forget(self, sweep: LiveSweep) -> None:
        now = self._clock.wall_s()
        for trial in sweep.trials.values():
            self._changes.append(TrialDropped(trial.trial_id, sweep.sweep_id, trial.number, now))
            del self._trials[trial.trial_id]
        if sweep.searcher is not None:
            sweep.searcher.close()
        del self._sweeps[sweep.sweep_id]
        self._forgotten.add(sweep.sweep_id)

    def _set_state(self, sweep: LiveSweep, state: SweepState, reason: str) -> None:
        check_sweep_transition(sweep.state, state)
        sweep.state = state
        self._changes.append(SweepChanged(sweep.sweep_id, state, reason, self._clock.wall_s()))

    # Stopping.

    def _begin_stop(self) -> None:
        self._stopping = True
        for slot in self._ledger.busy():
            assert slot.trial is not None
            slot.stop(slot.trial.key, Cause.CANCELLED)

    def _park(self) -> None:
        """Leave nothing `running` in the database that does not run."""
        for slot in self._ledger.busy():
            assert slot.trial is not None
            self._end_attempt(slot.trial, self._ended(slot.trial, Cause.CANCELLED, "the service stopped"))
        for sweep in self._sweeps.values():
            if sweep.state is SweepState.RUNNING:
                self._set_state(sweep, SweepState.QUEUED, "the service stopped; it goes on at the next start")
        self._record()

    # Writing.

    def _record(self) -> bool:
        """Write all changes in one transaction; False, and nothing lost, when the database cannot take them."""
        try:
            if self._changes:
                self._recorder.commit(self._changes)
        except DatabaseError as error:
            log.error("%s; %d changes wait", error, len(self._changes))
            return False
        self._changes.clear()
        self._forgotten.clear()
        return True

    def _current(self, key: AttemptKey) -> LiveTrial | None:
        """The trial whose current attempt this is and not over; None for any other, whose results do not count."""
        trial = self._trials.get(key.trial_id)
        if trial is None or trial.key != key or trial in self._sweeps[trial.sweep_id].ready:
            return None
        return trial

    def _ended(self, trial: LiveTrial, cause: Cause, reason: str) -> Ended:
        """The end of an attempt as the scheduler itself decides it."""
        now = self._clock.wall_s()
        state = TrialState.CANCELLED if cause is Cause.CANCELLED else TrialState.FAILED
        return Ended(trial.key, state, now, now, cause=cause, message=reason)
