"""The loop: hand ready trials to free slots, hear what became of them, tell the search, write it down.

One thread, one inbox, no waiting inside: Ray and Optuna work elsewhere and send messages. Each step looks what clients
want, handles what came, decides, writes all of it in one transaction, and only then acts on the slots: what a slot is
told to do is always in the database first, and an event is acknowledged only when it is.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from podium.sweep.lifecycle.scheduler_messages import (
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
    StudyRead,
    Suggested,
    Wake,
)
from podium.sweep.lifecycle.state_changes import (
    ArtifactSaved,
    AttemptPlaced,
    AttemptStarted,
    Change,
    MetricPoint,
)
from podium.sweep.runtime.clock import Clock
from podium.sweep.runtime.fail_points import passing
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.scheduling.active_sweeps import Roster, searcher_of
from podium.sweep.scheduling.change_writer import Writer
from podium.sweep.scheduling.command_handler import Steering
from podium.sweep.scheduling.device_health import DeviceCare
from podium.sweep.scheduling.device_ledger import Ledger, Slot
from podium.sweep.scheduling.fair_share import Claim, FairShare
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.scheduling.slot_watchdog import SlotWatch
from podium.sweep.scheduling.study_queries import StudyReader
from podium.sweep.scheduling.wait_reasons import why_sweep_waits, with_wait
from podium.sweep.spec.limits import SpecLimits
from podium.sweep.values.errors import DamagedError, DatabaseError, FencedError
from podium.sweep.values.trial import (
    COUNTED,
    AttemptKey,
    Cause,
    Ended,
    Event,
    Logged,
    Reported,
    Saved,
    Started,
    StopAsked,
    StudyAsked,
    SweepState,
    TrialState,
    Wanted,
)

TICK_S = 1.0  # how often to look at the database when nobody wakes us
FULL_S = 10.0
JUST_FULL = "a trial found the data disk full; others start again in a moment"
WAITS_S = 5.0  # a sweep that stands still for so long waits; one between two trials does not
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
        study: StudyReader,
        clock: Clock,
        data: DataDirectory,
        threads: int = 1,
        short_of_room: Callable[[], str] = lambda: "",
        tidy: Callable[[Path], None] = lambda _: None,
        keep: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._inbox = inbox
        self._pool = pool
        self._recorder = recorder
        self._study = study
        self._clock = clock
        self._data = data
        self._threads = threads  # of a trial, where the sweep does not say
        self._short_of_room = short_of_room  # why no trial may start for want of space, or ""
        self._no_room = ""
        self._full_until_s = 0.0  # a trial found the disk full: until then no other tries
        self._tidy = tidy  # takes the folder of an attempt whose slot is gone
        self._keep = keep  # takes a sweep that does not keep all that its trials leave
        self._to_keep: set[int] = set()
        self._ledger = Ledger()
        self._fair = FairShare()
        self._changes: list[Change] = []
        self._roster = Roster(searchers, clock, self._changes, recorder.last_trial_id())
        self._writer = Writer(recorder, self._changes, self._roster.sweep_of)
        self._care = DeviceCare(self._ledger, clock, self._changes)
        self._stopping = False
        self._looked_s = -TICK_S
        self._watch = SlotWatch()
        self._steering = Steering(self._roster, self._ledger, self._changes, self._cancel)
        self._refused = ""  # why the database takes no changes just now
        self._refused_since = 0.0  # seconds since the epoch
        self._slots_changed = threading.Condition()

    def wait_for_slots(self, count: int) -> None:
        """Return, in any thread, when `count` slots are open."""
        with self._slots_changed:
            self._slots_changed.wait_for(lambda: len(self._ledger) >= count)

    def devices(self) -> frozenset[str]:
        """Those that have, or had, a slot; in any thread, once all are open."""
        return frozenset(slot.device.device_id for slot in self._ledger)

    # The loop.

    def run(self, *, stop_within_s: float = 6.0, on_turn: Callable[[], None] = lambda: None) -> None:
        """Work until a `Stop` message; then end what runs, so that the database tells the truth.

        `on_turn` is called at least every `TICK_S` seconds, as long as nothing holds up the loop.

        Raises `FencedError` as soon as another scheduler has taken over, `DamagedError` when the disk fails.
        """
        deadline: float | None = None
        while True:
            self.step(self._receive())
            on_turn()
            if self._stopping:
                deadline = deadline or self._clock.monotonic_s() + stop_within_s
                if not self._ledger.busy() or self._clock.monotonic_s() > deadline:
                    break
        self._park()

    def step(self, messages: Sequence[Message]) -> None:
        """Look, handle what came, decide, write, act."""
        due = self._due(messages)
        if due:
            self._look()
        for message in messages:
            self._handle(message)
        if not self._stopping:
            self._end_sweeps()
            self._place()
            if due:
                self._explain()
        if self._record():
            self._end_stuck_slots()
            passing("scheduler.before-send")
            self._ledger.send(self._pool, self._clock.monotonic_s())
            passing("scheduler.after-send")
            self._keep_less()
            self._plan()

    def _due(self, messages: Sequence[Message]) -> bool:
        """Whether to look at what clients want: somebody woke us, or it is time.

        Not while changes wait for the database: what it says is older than what we know.
        """
        now = self._clock.monotonic_s()
        woken = any(isinstance(message, Wake) for message in messages)
        if self._changes or self._stopping or not (woken or now - self._looked_s >= TICK_S):
            return False
        self._looked_s = now
        return True

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
            self._roster.hear_ask(message)
        elif isinstance(message, Judged):
            self._hear_verdict(message)
        elif isinstance(message, Suggested):
            self._hear_suggestion(message)
        elif isinstance(message, StudyRead):
            self._answer_study(message)
        elif isinstance(message, SlotOpened):
            self._open_slot(message)
        elif isinstance(message, SlotLost):
            self._lose_slot(message)
        elif isinstance(message, SearchFailed):
            if self._roster.whose(message) is not None:
                self._fail_sweep(message.sweep_id, f"the search failed: {message.reason}")
        elif isinstance(message, Stop):
            self._begin_stop()

    # What clients want.

    def _look(self) -> None:
        """Look at the database, or try again at the next time."""
        try:
            self._look_at_all()
        except (FencedError, DamagedError):
            raise
        except DatabaseError as error:
            log.error("%s; trying again", error)

    def _look_at_all(self) -> None:
        """Take in what is new: sweeps, and what clients want of them, of trials and devices."""
        just_full = JUST_FULL if self._clock.monotonic_s() < self._full_until_s else ""
        self._no_room = self._short_of_room() or just_full
        known = frozenset(self._roster.sweeps)
        for stored in self._recorder.open_sweeps(self._steering.known):
            self._steering.take_in(stored)
        wishes = self._recorder.wishes(known)
        self._care.close(wishes)
        self._steering.carry_out(wishes)

    # Slots.

    def adopt(self, found: Iterable[SlotOpened]) -> None:
        """Reconcile at start with the slots that outlived the scheduler before us.

        What they finished meanwhile counts, what they run goes on, and what the database calls running but no
        slot knows is lost, and tried again. Raises `DatabaseError`, with nothing done, when it cannot be read: without
        knowing what is to run, all that was found would be thrown away.
        """
        self._look_at_all()
        for message in found:
            self._open_slot(message)
        for trial in self._roster.all_trials():
            if trial.device_id is None and self._roster.current(trial.key) is trial:
                self._end_interrupted(trial, "lost while the scheduler was away")
        self.step([])

    def folders_in_use(self) -> frozenset[Path]:
        """The folders of the attempts that slots run."""
        return frozenset(
            self._data.attempt(trial.sweep_id, trial.number, trial.attempt)
            for slot in self._ledger
            if (trial := slot.trial) is not None
        )

    def _open_slot(self, message: SlotOpened) -> None:
        """Take a slot into the ledger; what it ran before we came is ours if the database says so too."""
        slot = self._ledger.open(message.device)
        slot.sent_s = self._clock.monotonic_s()
        self._changes.append(slot.shown(self._clock.wall_s()))
        with self._slots_changed:
            self._slots_changed.notify_all()
        if message.running is not None:
            self._adopt_attempt(slot, message.running)
        self._hear_slot(SlotNews(message.device.device_id, message.events))

    def _adopt_attempt(self, slot: Slot, key: AttemptKey) -> None:
        trial = self._roster.current(key)
        if trial is None:
            slot.drop(key, self._clock.monotonic_s())
        else:
            self._roster.sweeps[trial.sweep_id].adopt(trial, slot.device.device_id, self._clock.monotonic_s())
            slot.trial = trial
            if trial.stopping:
                slot.stop(key, Cause.CANCELLED)

    def _lose_slot(self, message: SlotLost) -> None:
        slot = self._ledger.get(message.device_id)
        if slot is None or slot.lost:
            return
        slot.lost = True
        if slot.ending is not None and slot.ending_folder is not None:
            self._tidy(slot.ending_folder)
        self._changes.append(slot.changed("lost", message.reason, self._clock.wall_s()))
        if slot.trial is not None:
            self._end_lost(slot.trial, message.cause, message.reason)

    def _end_lost(self, trial: LiveTrial, cause: Cause, reason: str) -> None:
        """An attempt went with its slot; nobody has cleaned up behind it."""
        self._tidy(self._data.attempt(trial.sweep_id, trial.number, trial.attempt))
        self._end_attempt(trial, self._ended(trial, cause, reason))

    def _end_interrupted(self, trial: LiveTrial, reason: str) -> None:
        """An attempt went down with the service, for no fault of its own: it is repeated, and it is no failure.

        Unless that happens again and again: then this trial may be the reason.
        """
        trial.ran_s = trial.seen_s  # when it ended nobody knows
        if trial.often_interrupted:
            self._end_lost(trial, Cause.INFRASTRUCTURE, reason)
            return
        self._tidy(self._data.attempt(trial.sweep_id, trial.number, trial.attempt))
        now = self._clock.wall_s()
        event = Ended(trial.key, TrialState.CANCELLED, now, now, cause=Cause.INFRASTRUCTURE, message=reason)
        self._roster.end_attempt(trial, event, repeat=not trial.stopping)

    def _end_stuck_slots(self) -> None:
        for slot, why in self._watch.stuck(self._ledger, self._limits_of, self._clock.monotonic_s()):
            log.error("slot %s %s; ending it", slot.device.device_id, why)
            self._pool.kill(slot.device.device_id)

    def _limits_of(self, trial: LiveTrial) -> SpecLimits:
        return self._roster.sweeps[trial.sweep_id].spec.limits

    def _slot_of(self, trial: LiveTrial) -> Slot | None:
        return None if trial.device_id is None else self._ledger[trial.device_id]

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
        trial = self._roster.current(event.key)
        if trial is None:
            if isinstance(event, Ended) and event.key == slot.ending:
                slot.ending = None
            elif isinstance(event, Ended):
                log.warning("dropped: the end of trial %d, attempt %d", event.key.trial_id, event.key.attempt)
            return
        if isinstance(event, Started):
            trial.started = event
            self._changes.append(AttemptStarted(event))
        elif isinstance(event, Reported):
            self._hear_report(slot, trial, event)
        elif isinstance(event, Logged):
            self._roster.sweeps[trial.sweep_id].stops.note(event.values)
            self._changes += [MetricPoint(event.key, n, event.step, v, event.at) for n, v in event.values.items()]
        elif isinstance(event, Saved):
            self._changes.append(ArtifactSaved(event))
        elif isinstance(event, Wanted):
            if event.drawn:
                self._roster.note_drawn(trial, event)
            searcher_of(self._roster.sweeps[trial.sweep_id]).suggest(trial.number, event)
        elif isinstance(event, StudyAsked):
            self._study.read(trial.sweep_id, event)
        elif isinstance(event, StopAsked):
            self._roster.stop_sweep(trial)
        elif isinstance(event, Ended):
            self._end_attempt(trial, event)

    def _answer_study(self, message: StudyRead) -> None:
        trial = self._roster.current(message.asked.key)
        slot = None if trial is None else self._slot_of(trial)
        if slot is not None:
            slot.answer_study(message)

    def _hear_report(self, slot: Slot, trial: LiveTrial, event: Reported) -> None:
        sweep = self._roster.sweeps[trial.sweep_id]
        sweep.stops.note([sweep.spec.pruned_on.name])
        self._changes.append(MetricPoint(event.key, sweep.spec.pruned_on.name, event.step, event.value, event.at))
        if event.step < max(trial.reported, default=-1):  # a repeated attempt: the search has judged this step
            slot.answer(event.key, event.step, prune=False)
            return
        trial.reported.add(event.step)
        searcher_of(sweep).report(trial.number, event.key, event.step, event.value)

    def _hear_verdict(self, message: Judged) -> None:
        trial = self._roster.hear_verdict(message)
        slot = None if trial is None else self._slot_of(trial)
        if slot is not None:
            slot.answer(message.key, message.step, message.verdict.prune)

    def _hear_suggestion(self, message: Suggested) -> None:
        trial = self._roster.hear_suggestion(message)
        slot = None if trial is None else self._slot_of(trial)
        if slot is not None:
            slot.suggest(message.wanted, message.value, message.error)

    def _end_attempt(self, trial: LiveTrial, event: Ended) -> None:
        """Free the slot; the trial is over, or waits for its next attempt."""
        sweep = self._roster.sweeps[trial.sweep_id]
        slot = self._slot_of(trial)
        if slot is not None:
            slot.trial = None
            self._fair.charge(sweep.sweep_id, self._clock.monotonic_s() - trial.placed_s, sweep.priority)
            self._care.judge(slot, trial, event)
        event = self._of_full_disk(trial, event)
        repeat = not trial.stopping and self._is_repeated(trial, event, sweep)
        if repeat and event.state is TrialState.CANCELLED and event.cause is Cause.CANCELLED:
            event = replace(event, message="the service stopped")  # nobody asked for it
        self._roster.end_attempt(trial, event, repeat=repeat)
        if event.state in COUNTED and sweep.spec.keep.removes_something:
            self._to_keep.add(sweep.sweep_id)

    def _keep_less(self) -> None:
        """What was recorded of trials that ended says what of them goes."""
        for sweep_id in self._to_keep:
            self._keep(sweep_id)
        self._to_keep.clear()

    def _is_repeated(self, trial: LiveTrial, event: Ended, sweep: LiveSweep) -> bool:
        if event.state is TrialState.CANCELLED:
            return self._stopping or event.cause is Cause.DISK_FULL
        return event.state is TrialState.FAILED and trial.may_retry(event, sweep.spec)

    def _of_full_disk(self, trial: LiveTrial, event: Ended) -> Ended:
        """Pause placement when the data disk is full; a file system of the trial's own concerns the trial alone.

        An attempt that the full data disk ended is no failure of its trial, unless that happens again and again.
        """
        if event.cause is not Cause.DISK_FULL:
            return event
        interrupted = event.state is TrialState.CANCELLED
        short = self._short_of_room()
        if interrupted:
            self._full_until_s = self._clock.monotonic_s() + FULL_S
        if interrupted or short:
            self._no_room = short or JUST_FULL
        if not interrupted or not trial.often_interrupted:
            return event
        return replace(event, state=TrialState.FAILED)

    # Planning and placement.

    def _plan(self) -> None:
        """Ask ahead, so that a slot that comes free finds its next trial ready."""
        if self._stopping:
            return
        free, slots = len(self._ledger.free()), len(self._ledger.open_to_trials())
        for sweep in self._roster.sweeps.values():
            for _ in range(sweep.asks_wanted(free, slots)):
                sweep.asking += 1
                searcher_of(sweep).ask(deadline_s=sweep.ask_deadline_s)

    def _place(self) -> None:
        """Give each free slot a ready trial of the sweep whose turn it is."""
        if self._no_room or self._refused:
            return
        now = self._clock.monotonic_s()
        only = len(self._ledger.open_to_trials()) == 1
        for slot in self._ledger.free():
            ready = {
                sweep.sweep_id: trial
                for sweep in self._roster.sweeps.values()
                if (trial := sweep.next_for(slot.device, now, only=only)) is not None
            }
            chosen = self._fair.choose(self._claims(ready.keys(), now))
            if chosen is not None:
                self._start(slot, self._roster.sweeps[chosen], ready[chosen])

    def _claims(self, ready: Iterable[int], now_s: float) -> list[Claim]:
        return [
            Claim(
                sweep.sweep_id, sweep.running, sweep.spec.resources.max_concurrent, sweep.priority,
                sweep.used_s(now_s), sweep.held_s(now_s), sweep.sweep_id in ready,
            )
            for sweep in self._roster.sweeps.values()
            if sweep.running or sweep.sweep_id in ready
        ]  # fmt: skip

    def _start(self, slot: Slot, sweep: LiveSweep, trial: LiveTrial) -> None:
        device = slot.device
        sweep.place(trial, device.device_id, self._clock.monotonic_s())
        slot.trial = trial
        self._care.begin(slot)
        if sweep.state is SweepState.QUEUED:
            self._roster.set_state(sweep, SweepState.RUNNING, "")
        elif sweep.state is SweepState.STOPPING:
            self._roster.explain(sweep, with_wait(sweep.reason, ""))
        at = self._clock.wall_s()
        self._changes.append(AttemptPlaced(trial.key, sweep.sweep_id, trial.number, device.device_id, device.node, at))
        assignment = sweep.assignment(trial, self._data, self._threads)
        slot.commands.append({"kind": "run", "assignment": assignment.to_dict()})

    def _explain(self) -> None:
        """Sweeps that wait and devices that idle say why."""
        sweeps = list(self._roster.sweeps.values())
        for sweep in sweeps:
            waits = self._clock.monotonic_s() - sweep.still_since_s >= WAITS_S or bool(sweep.reason)
            reason = why_sweep_waits(sweep, list(self._ledger), self._no_room) if waits else ""
            if sweep.state in (SweepState.QUEUED, SweepState.RUNNING):
                self._roster.explain(sweep, reason)
            elif sweep.state is SweepState.STOPPING:
                self._roster.explain(sweep, with_wait(sweep.reason, reason))
        self._care.explain(sweeps, self._no_room)

    # Ending sweeps.

    def _end_sweeps(self) -> None:
        for sweep in list(self._roster.sweeps.values()):
            sweep.look_at_budget(self._clock.monotonic_s())
            if sweep.is_spent:
                self._roster.set_state(sweep, SweepState.STOPPING, sweep.account.spent)
            if why_failing := sweep.why_failing:
                self._fail_sweep(sweep.sweep_id, why_failing)
            elif sweep.has_ended:
                self._finish_sweep(sweep)

    def _finish_sweep(self, sweep: LiveSweep) -> None:
        state, reason = sweep.why_ended()
        if sweep.state is SweepState.QUEUED:
            self._roster.set_state(sweep, SweepState.RUNNING, "")
        if sweep.state is SweepState.PAUSED:
            self._roster.set_state(sweep, SweepState.STOPPING, reason)
        self._roster.set_state(sweep, state, reason)
        self._forget(sweep)

    def _fail_sweep(self, sweep_id: int, reason: str) -> None:
        sweep = self._roster.sweeps.get(sweep_id)
        if sweep is not None:
            self._end_trials(sweep)
            self._roster.set_state(sweep, SweepState.FAILED, reason)
            self._forget(sweep)

    def _cancel(self, sweep: LiveSweep) -> None:
        self._end_trials(sweep)
        self._forget(sweep)

    def _end_trials(self, sweep: LiveSweep) -> None:
        """Kill what runs and record it at once: what the slots say of it later no longer counts."""
        for trial in sweep.begun():
            if (slot := self._slot_of(trial)) is not None:
                slot.drop(trial.key, self._clock.monotonic_s())
                slot.ending_folder = self._data.attempt(trial.sweep_id, trial.number, trial.attempt)
            event = self._ended(trial, Cause.CANCELLED, "its sweep was ended")
            self._roster.end_attempt(trial, event, repeat=False)

    def _forget(self, sweep: LiveSweep) -> None:
        self._roster.forget(sweep)
        self._fair.forget(sweep.sweep_id)
        if sweep.spec.keep.removes_something:  # of trials that now never run again
            self._to_keep.add(sweep.sweep_id)

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
        for sweep in self._roster.sweeps.values():
            if sweep.state is SweepState.RUNNING:
                reason = "the service stopped; it goes on at the next start"
                self._roster.set_state(sweep, SweepState.QUEUED, reason)
        self._record()

    # Writing.

    def _record(self) -> bool:
        """Write all changes in one transaction; False, and nothing lost, when the database cannot take them.

        A change that holds what cannot be written ends its sweep, and nothing else.
        """
        waited = len(self._changes)
        try:
            self._writer.write()
            self._fail_unwritten()
        except (FencedError, DamagedError):
            raise  # who comes after us reads what is there
        except DatabaseError as error:
            self._refused_since = self._refused_since if self._refused else self._clock.wall_s()
            if str(error) != self._refused:  # once, and not a line a second onto a disk that is full
                log.error("%s; what is to be written waits", error)
            self._refused = str(error)
            return False
        if self._refused:
            log.info("the database takes changes again; %d had waited", waited)
            self._care.could_not_write(f"nothing could be written down: {self._refused}", self._refused_since)
            self._refused = ""
            for slot in self._ledger.busy():  # what was placed meanwhile, and is only now told to its slot
                if slot.trial is not None and any(command["kind"] == "run" for command in slot.commands):
                    sweep = self._roster.sweeps[slot.trial.sweep_id]
                    sweep.begin_now(slot.trial, self._clock.monotonic_s())
        return True

    def _fail_unwritten(self) -> None:
        """End the sweeps of which something could not be written: as the database has them, which knows less of them.

        What they run is told to end by `_fail_sweep`; what else that decides is of trials that may not be written.
        """
        if not self._writer.failed:
            return
        failed = dict(self._writer.failed)
        stored = self._recorder.open_sweeps(frozenset(self._roster.sweeps) - failed.keys())
        for sweep_id, reason in failed.items():
            self._fail_sweep(sweep_id, reason)
        self._changes.clear()  # all else was written before
        for sweep in stored:
            if sweep.sweep_id in failed:
                self._roster.refuse(sweep, failed[sweep.sweep_id])
        self._writer.forget()
        self._writer.write()

    def _ended(self, trial: LiveTrial, cause: Cause, reason: str) -> Ended:
        """The end of an attempt as the scheduler itself decides it."""
        now = self._clock.wall_s()
        state = TrialState.CANCELLED if cause is Cause.CANCELLED else TrialState.FAILED
        return Ended(trial.key, state, now, now, cause=cause, message=reason)
