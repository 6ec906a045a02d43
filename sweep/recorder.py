"""The only writer of trials: turns changes into rows, a transaction at a time; scheduler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection

from db import devices, metrics, replicas, sweeps, trials
from db.engine import Database
from sweep.changes import (
    DURABLE,
    ArtifactSaved,
    AttemptEnded,
    AttemptPlaced,
    AttemptStarted,
    Change,
    DeviceChanged,
    MetricPoint,
    SearchNotes,
    StoredSweep,
    SweepChanged,
    TrialDropped,
    TrialPlanned,
)

_WRITERS: dict[type, Callable[[Connection, Any], None]] = {
    TrialPlanned: trials.plan,
    AttemptPlaced: trials.place,
    AttemptStarted: trials.start,
    MetricPoint: metrics.add,
    SearchNotes: trials.note,
    ArtifactSaved: trials.keep,
    AttemptEnded: trials.end,
    TrialDropped: trials.drop,
    SweepChanged: sweeps.change,
    DeviceChanged: devices.change,
}


class DatabaseRecorder:
    """See `sweep.messages.Recorder`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def commit(self, changes: Sequence[Change]) -> None:
        """Write all of it, in order, or raise `DatabaseError` and write nothing.

        Metric points alone are committed without waiting for the disk; everything else waits.
        """
        durable = any(isinstance(change, DURABLE) for change in changes)
        with self._database.write(durable=durable) as connection:
            for kind, group in groupby(changes, key=type):
                _WRITERS[kind](connection, list(group))

    def open_sweeps(self, known: frozenset[int]) -> list[StoredSweep]:
        """Every sweep not in `known` that is not over, or has trials that are not, with its trials."""
        with self._database.read() as connection:
            return [
                StoredSweep(
                    sweep.id, sweep.state, sweep.spec_json, sweep.created_at,
                    trials.stored(connection, sweep.id, sweep.metric),
                )
                for sweep in sweeps.unfinished(connection)
                if sweep.id not in known
            ]  # fmt: skip

    def cancelled(self, known: frozenset[int]) -> list[int]:
        """Which of `known` a client has cancelled."""
        with self._database.read() as connection:
            return sweeps.cancelled(connection, known)

    def dedicated_devices(self) -> dict[str, str]:
        """The devices that an ensemble has to itself, by id, and why."""
        with self._database.read() as connection:
            return replicas.dedicated(connection)

    def last_trial_id(self) -> int:
        """The highest trial id in use; 0 when there is none."""
        with self._database.read() as connection:
            return trials.last_id(connection)
