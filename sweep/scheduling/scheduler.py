"""The loop of the scheduler process: read, decide, write, act.

One thread and one inbox. Nothing in the loop blocks: Ray and Optuna work elsewhere and send messages. Each step reads
the requests of clients if a read is due, decides on each message, writes all changes in one transaction, and only then
acts on the slots. A command is in the database before its slot gets it, and an event is acknowledged only when it is in
the database. New trials alone are no reason to write: they are written with the next changes, such as their placement,
or at the next tick.
"""

from __future__ import annotations

import logging
import queue
import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, Message, SlotOpened, Wake
from podium.sweep.lifecycle.scheduler_interfaces import Recorder, Searchers, SlotPool
from podium.sweep.runtime.clock import Clock
from podium.sweep.runtime.fail_points import fail_point
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.scheduling.action_dispatcher import ActionDispatcher
from podium.sweep.scheduling.active_sweeps import rejection
from podium.sweep.scheduling.change_buffer import ChangeBuffer
from podium.sweep.scheduling.changes_and_actions import Decision, Instant
from podium.sweep.scheduling.command_handler import CommandHandler
from podium.sweep.scheduling.decide import decide, is_foreign, resolve_orphans, suspend
from podium.sweep.scheduling.disk_space_gate import reports_full_disk
from podium.sweep.scheduling.gang_event_handler import advance_gangs, next_due_s
from podium.sweep.scheduling.gang_reservation_and_backfill import ReservationHolder
from podium.sweep.scheduling.lease_confirmation import is_confirmed
from podium.sweep.scheduling.predecessor_waits import release_due
from podium.sweep.scheduling.read_pacing import TICK_S, ReadPacing
from podium.sweep.scheduling.scheduler_state import SchedulerState
from podium.sweep.scheduling.slot_autoscaler import SlotAutoscaler
from podium.sweep.scheduling.slot_watchdog import SlotWatchdog
from podium.sweep.scheduling.study_query_thread import StudyReader
from podium.sweep.scheduling.sweep_endings import end_due_sweeps, fail_sweep
from podium.sweep.scheduling.trial_placement import explain_waits, place_trials, plan_asks
from podium.sweep.values.errors import DamagedError, DatabaseError, FencedError

log = logging.getLogger("podium.scheduler")


class Scheduler:
    """See the module docstring. The callbacks are called in the loop, and must not block.

    `disk_shortage`: why the data disk allows no new trial, or "". `clean_up`: takes the folder of an attempt whose slot
    is gone. `has_started`: whether a slot has received the attempt of a folder. `apply_retention`: takes a sweep some
    of whose files are not kept. `elastic`: requests and releases slots, if they are not fixed. `on_progress`: called in
    a step, between messages and between new sweeps.
    """

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
        disk_shortage: Callable[[], str] = lambda: "",
        clean_up: Callable[[Path], None] = lambda _: None,
        has_started: Callable[[Path], bool] = lambda _: True,
        apply_retention: Callable[[int], None] = lambda _: None,
        elastic: SlotAutoscaler | None = None,
        on_progress: Callable[[], None] = lambda: None,
    ) -> None:
        self._inbox = inbox
        self._pool = pool
        self._recorder = recorder
        self._clock = clock
        self._disk_shortage = disk_shortage
        self._has_started = has_started
        self._state = SchedulerState(data, recorder.last_trial_id(), salt=secrets.token_hex(8))
        self._commands = CommandHandler(self._state)
        self._writer = ChangeBuffer(recorder, self._state.sweeps.sweep_id_of)
        self._executor = ActionDispatcher(
            inbox=inbox, searchers=searchers, study=study, clean_up=clean_up, apply_retention=apply_retention
        )
        self._watchdog = SlotWatchdog()
        self._elastic = elastic
        self._on_progress = on_progress
        self._reads = ReadPacing()
        self._slots_changed = threading.Condition()

    @property
    def unwritten(self) -> int:
        """The number of changes that wait for the database."""
        return self._writer.pending

    def wait_for_slots(self, count: int) -> None:
        """Wait until `count` slots of this machine are open; may be called in any thread."""
        with self._slots_changed:
            self._slots_changed.wait_for(lambda: self._state.ledger.open_here() >= count)

    def devices(self) -> frozenset[str]:
        """The devices that have, or had, a slot; in any thread, once all are open."""
        return frozenset(slot.device.device_id for slot in list(self._state.ledger))

    @property
    def reservation(self) -> ReservationHolder:
        """The sweep whose next trial waits for several devices."""
        return self._state.reservation

    def folders_in_use(self) -> frozenset[Path]:
        """The folders of the attempts of slots."""
        return frozenset(self._state.folder_of(trial) for _, trial in self._state.ledger.attempts())

    # The loop.

    def adopt(self, found: Iterable[SlotOpened]) -> None:
        """At start: reconcile the database with the slots that outlived the previous scheduler.

        Finished attempts count, and running ones continue. What runs according to the database but on no slot is sent
        to its slot if it has not started, and is repeated otherwise. A slot with another attempt of the same number is
        killed: it is from before a backup of the database was restored. Raises `DatabaseError`, with nothing done, if
        the database cannot be read: without it all that was found would be discarded.
        """
        self._read_database()
        for message in found:
            if is_foreign(self._state, message):
                device_id = message.device.device_id
                log.warning("slot %s ran attempts of another database; replacing it", device_id)
                self._pool.kill(device_id)
            else:
                self._handle(message)
        self._apply(resolve_orphans(self._state, self._has_started, self._now()))
        self.step([])

    def run(self, *, stop_within_s: float = 6.0, on_turn: Callable[[], None] = lambda: None) -> None:
        """Run until a `Stop` message; then end all running attempts, so that the database is correct.

        `on_turn` is called before each step, and before it waits up to `TICK_S` seconds for messages. Raises
        `FencedError` as soon as another scheduler has taken over, and `DamagedError` if the disk fails.
        """
        deadline_s: float | None = None
        while True:
            on_turn()
            self.step(self._receive())
            if self._state.stopping:
                deadline_s = deadline_s or self._clock.monotonic_s() + stop_within_s
                if not self._state.ledger.attempts() or self._clock.monotonic_s() > deadline_s:
                    break
        self._apply(suspend(self._state, self._now()))
        self._record()

    def step(self, messages: Sequence[Message]) -> None:
        """Read, decide, write, act."""
        due = self._is_read_due(messages) and self._record()
        if due:
            self._try_read_database()
        for message in messages:
            self._handle(message)
            self._on_progress()
        if self._state.ledger.gangs:
            self._apply(advance_gangs(self._state, self._now()))
        if not self._state.stopping:
            now = self._now()
            self._apply(end_due_sweeps(self._state, now))
            if not self._writer.rejected:
                self._apply(place_trials(self._state, now))
            if due and self._reads.start_explanation():
                self._apply(explain_waits(self._state, now))
            if self._elastic is not None and (due or any(isinstance(message, SlotOpened) for message in messages)):
                self._apply(self._elastic.adjust(self._state, now))  # an old demand would request another slot
        if self._writer.can_wait or self._record():
            self._act()

    def _act(self) -> None:
        """Execute the decisions so far, which are in the database."""
        self._kill_stuck_slots()
        fail_point("scheduler.before-send")
        self._state.ledger.send(self._pool, self._clock.monotonic_s())
        fail_point("scheduler.after-send")
        self._executor.after_commit()
        if self._elastic is not None:
            self._elastic.after_commit()
        if not self._state.stopping:
            self._apply(plan_asks(self._state, self._now()))

    def wait_s(self) -> float:
        """How long `run` waits for messages, in s: until the next read or tick, or until it kills ranks of a gang."""
        now_s = self._clock.monotonic_s()
        wait_s = self._reads.wait_s(now_s) if self._may_read else TICK_S
        return min(wait_s, max(0.0, next_due_s(self._state) - now_s)) if self._state.ledger.gangs else wait_s

    def _receive(self) -> list[Message]:
        try:
            messages = [self._inbox.get(timeout=self.wait_s())]
        except queue.Empty:
            return []
        while True:
            try:
                messages.append(self._inbox.get_nowait())
            except queue.Empty:
                return messages

    def _handle(self, message: Message) -> None:
        self._apply(decide(self._state, message, self._now(measure_disk=reports_full_disk(message))))
        if isinstance(message, SlotOpened):
            with self._slots_changed:
                self._slots_changed.notify_all()

    def _apply(self, decision: Decision) -> None:
        self._writer.add(decision.changes)
        self._executor.execute(decision.actions)

    def _now(self, *, measure_disk: bool = False) -> Instant:
        shortage = self._disk_shortage() if measure_disk else ""
        return Instant(self._clock.wall_s(), self._clock.monotonic_s(), shortage)

    def _kill_stuck_slots(self) -> None:
        """Kill them, unless another scheduler has opened them: this one was suspended. Raises `FencedError` then."""
        stuck = list(self._watchdog.stuck(self._state.ledger, self._state.sweeps, self._clock.monotonic_s()))
        for slot, reason in stuck if stuck and is_confirmed(self._recorder) else ():
            log.error("slot %s %s; killing it", slot.device.device_id, reason)
            self._pool.kill(slot.device.device_id)

    # Reading.

    @property
    def _may_read(self) -> bool:
        """Not while the database rejects changes: its content is then older than the state."""
        return not (self._writer.rejected or self._state.stopping)

    def _is_read_due(self, messages: Sequence[Message]) -> bool:
        """Whether to read the requests of clients. Changes that can wait are written first."""
        woken = any(isinstance(message, Wake) for message in messages)
        now_s = self._clock.monotonic_s()
        return self._may_read and self._reads.start_read(now_s, woken=woken, busy=bool(messages))

    def _try_read_database(self) -> None:
        try:
            self._read_database()
        except (FencedError, DamagedError):
            raise
        except DatabaseError as error:
            log.error("cannot read the database, trying again: %s", error)

    def _read_database(self) -> None:
        """Activate new sweeps, release those whose predecessors have finished, and apply the requests of clients for
        sweeps, trials and devices.
        """
        now = self._now(measure_disk=True)
        self._state.disk.update(now)
        active = self._state.sweeps.ids
        for stored in self._recorder.open_sweeps(self._state.sweeps.known):
            self._apply(self._commands.activate(stored, now))
            self._on_progress()
        if (released := release_due(self._recorder.held_sweeps(), now)).actions:
            fail_point("release.before-write")
        self._apply(released)
        self._apply(self._commands.apply(self._recorder.pending_commands(active), now))

    # Writing.

    def _record(self) -> bool:
        """Write all changes in one transaction; returns False, without losing any, if the database rejects them.

        A change whose content cannot be written fails only its own sweep.
        """
        try:
            self._writer.write()
            self._fail_unwritable()
        except (FencedError, DamagedError):
            raise  # the next scheduler reads what is in the database
        except DatabaseError as error:
            self._writer.reject(str(error), self._clock.wall_s())
            return False
        if rejected := self._writer.accept():
            reason, since = rejected
            changes = self._state.availability.explain_rejected_writes(f"the database rejected writes: {reason}", since)
            self._writer.add(changes)
            self._state.place_unsent_again(self._clock.monotonic_s())
        return True

    def _fail_unwritable(self) -> None:
        """Fail the sweeps with changes that cannot be written, based on their older state in the database.

        The actions of the failure are executed, but its changes are not written, since they concern the same trials.
        """
        if not (failed := self._writer.failed):
            return
        stored = self._recorder.open_sweeps(self._state.sweeps.ids - failed.keys())
        now = self._now()
        for sweep_id, reason in failed.items():
            self._executor.execute(fail_sweep(self._state, sweep_id, reason, now).actions)
        for sweep in (each for each in stored if each.sweep_id in failed):
            self._writer.add(rejection(sweep, failed[sweep.sweep_id], now))
        self._writer.forget_failed()
        self._writer.write()
