"""The only writer of trials: turns changes into rows, a transaction at a time; scheduler."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection

from podium.db.queries import study_pages
from podium.db.schema.engine import Database
from podium.db.stores import (
    device_history,
    devices,
    lease,
    metrics,
    replicas,
    spending,
    stored_trials,
    sweep_warnings,
    sweeps,
    trials,
    warm_starts,
)
from podium.sweep.lifecycle.state_changes import (
    DURABLE,
    ArtifactSaved,
    AttemptEnded,
    AttemptPlaced,
    AttemptStarted,
    Change,
    DeviceChanged,
    DeviceSetAside,
    MetricPoint,
    ParamDefined,
    RequestMoot,
    SearchNotes,
    StoredSweep,
    SweepChanged,
    SweepWarned,
    TrialDropped,
    TrialPlanned,
    TrialRetried,
    Wishes,
)
from podium.sweep.values.errors import DamagedError, DatabaseError, FencedError
from podium.sweep.values.trial import StudyAsked

SEEN_S = 10.0  # how often it is written down that the scheduler goes on
_WRITERS: dict[type, Callable[[Connection, Any], None]] = {
    TrialPlanned: trials.plan,
    AttemptPlaced: trials.place,
    AttemptStarted: trials.start,
    MetricPoint: metrics.add,
    SearchNotes: trials.note,
    ParamDefined: trials.define,
    ArtifactSaved: trials.keep,
    AttemptEnded: trials.end,
    TrialDropped: trials.drop,
    TrialRetried: trials.retry,
    RequestMoot: trials.settle,
    SweepChanged: sweeps.change,
    SweepWarned: sweep_warnings.change,
    DeviceChanged: devices.change,
    DeviceSetAside: devices.set_aside,
}


class DatabaseRecorder:
    """See `podium.sweep.lifecycle.scheduler_messages.Recorder`."""

    def __init__(self, database: Database, holder: str = "") -> None:
        """Take over from any other scheduler: from now on it writes nothing more."""
        self._database = database
        self._seen_s = time.monotonic()
        with database.write() as connection:
            device_history.take_over(connection, time.time())
            self.epoch = lease.take(connection, holder, time.time())

    def commit(self, changes: Sequence[Change]) -> None:
        """Write all of it, in order, or raise `DatabaseError` and write nothing.

        Raises `FencedError` when another scheduler has taken over. Metric points alone are committed without
        waiting for the disk; everything else waits.
        """
        durable = any(isinstance(change, DURABLE) for change in changes)
        with self._database.write(durable=durable) as connection:
            lease.check(connection, self.epoch)
            for kind, group in groupby(changes, key=type):
                _WRITERS[kind](connection, list(group))

    def open_sweeps(self, known: frozenset[int]) -> list[StoredSweep]:
        """Every sweep not in `known` with something to do, with its trials.

        Those that are not over; those that are, and have trials that are not, or that a client wants to go on.
        """
        with self._database.read() as connection:
            found = [sweep for sweep in sweeps.unfinished(connection) if sweep.id not in known]
            warnings = sweep_warnings.of(connection, [sweep.id for sweep in found])
            return [
                StoredSweep(
                    sweep.id, sweep.state, sweep.spec_json, sweep.created_at,
                    stored_trials.stored(connection, sweep.id), sweep.reason, sweep.run_cap, sweep.priority,
                    sweep.terms, sweep.started_at, sweep.ended_at, sweep.over_s,
                    spending.device_s(connection, sweep.id),
                    () if sweep.warm_start is None else warm_starts.earlier_trials(connection, sweep.id),
                    {warning.code: warning.message for warning in warnings.get(sweep.id, ())},
                )
                for sweep in found
            ]  # fmt: skip

    def wishes(self, known: frozenset[int]) -> Wishes:
        """What clients want of the sweeps in `known` and of the devices."""
        with self._database.read() as connection:
            return Wishes(
                sweeps=sweeps.wishes(connection, known),
                trials=stored_trials.wishes(connection),
                enqueued=stored_trials.enqueued(connection),
                dedicated=replicas.dedicated(connection),
                aside=devices.aside(connection),
            )

    def forget_devices(self, keep: Sequence[str]) -> None:
        """Drop the devices of an earlier start that are not there any more. Raises `FencedError`."""
        with self._database.write() as connection:
            lease.check(connection, self.epoch)
            devices.forget(connection, keep)

    def all_are_open(self, there: Collection[str]) -> None:
        """Every slot that there is to be is open, on these devices; others are gone. In any thread."""
        with contextlib.suppress(DatabaseError), self._database.write() as connection:
            lease.check(connection, self.epoch)
            device_history.leave(connection, there, time.time())

    def see(self) -> None:
        """Note every few seconds that the scheduler goes on: if it is killed, the next one knows until when it ran.

        Raises `FencedError` and `DamagedError`. What the database does not take now is of no use later.
        """
        now_s = time.monotonic()
        if now_s - self._seen_s < SEEN_S:
            return
        self._seen_s = now_s
        try:
            with self._database.write(durable=False) as connection:
                lease.check(connection, self.epoch)
                device_history.see(connection, time.time())
        except (FencedError, DamagedError):
            raise
        except DatabaseError:
            pass

    def stop(self) -> None:
        """The scheduler ends in order: from now on no device does anything."""
        with contextlib.suppress(DatabaseError), self._database.write() as connection:
            lease.check(connection, self.epoch)
            device_history.stop(connection, time.time())

    def study(self, sweep_id: int, asked: StudyAsked) -> dict[str, Any]:
        """What a trial asks of its study, as plain JSON values; in any thread."""
        with self._database.read() as connection:
            return study_pages.answer(connection, sweep_id, asked)

    def last_trial_id(self) -> int:
        """The highest trial id in use; 0 when there is none."""
        with self._database.read() as connection:
            return stored_trials.last_id(connection)
