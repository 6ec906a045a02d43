"""Writes changes to the database, one transaction each; the only writer of trials. Scheduler process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection

from podium.db.queries import pending_client_requests, scheduler_recovery, stored_service_name, trial_study_queries
from podium.db.schema.database import Database
from podium.db.stores import (
    attempt_totals,
    attempt_usage,
    device_history,
    devices,
    member_replicas,
    metrics,
    multi_device_attempt_ranks,
    population_intervals,
    scheduler_lease,
    sweep_predecessors,
    sweep_warnings,
    sweeps,
    trial_writer,
    warm_starts,
)
from podium.sweep.lifecycle.database_changes import (
    DURABLE,
    ArtifactSaved,
    AttemptEnded,
    AttemptPlaced,
    AttemptReleased,
    AttemptStarted,
    Change,
    DeviceChanged,
    DeviceDrained,
    IntervalEnded,
    IntervalStarted,
    MetricPoint,
    ParamDefined,
    RankEnded,
    RequestObsolete,
    SearchAttributesChanged,
    SweepChanged,
    SweepReleased,
    SweepWarned,
    TrialDropped,
    TrialPlanned,
    TrialRetried,
    UsageSampled,
)
from podium.sweep.lifecycle.dependent_sweep_release import HeldSweep
from podium.sweep.lifecycle.pending_commands import PendingCommands
from podium.sweep.lifecycle.stored_sweeps import StoredSweep
from podium.sweep.runtime.clock import Clock, SystemClock
from podium.sweep.values.errors import DamagedError, DatabaseError, FencedError
from podium.sweep.values.slot_events import StudyRequested

HEARTBEAT_S = 10.0  # between two heartbeats of the scheduler
_WRITERS: dict[type, Callable[[Connection, Any], None]] = {
    TrialPlanned: trial_writer.plan,
    IntervalStarted: population_intervals.start,
    IntervalEnded: population_intervals.end,
    AttemptPlaced: trial_writer.place,
    AttemptStarted: trial_writer.start,
    RankEnded: multi_device_attempt_ranks.end,
    MetricPoint: metrics.add,
    UsageSampled: attempt_usage.add,
    SearchAttributesChanged: trial_writer.store_attributes,
    ParamDefined: trial_writer.define,
    ArtifactSaved: trial_writer.store_artifacts,
    AttemptReleased: trial_writer.release,
    AttemptEnded: trial_writer.end,
    TrialDropped: trial_writer.drop,
    TrialRetried: trial_writer.retry,
    RequestObsolete: trial_writer.clear_requests,
    SweepChanged: sweeps.change,
    SweepReleased: sweep_predecessors.release,
    SweepWarned: sweep_warnings.change,
    DeviceChanged: devices.change,
    DeviceDrained: devices.drain,
}
# New trials depend on no other change of a transaction, and no change of a trial on those of devices. An attempt that
# has left its device was placed in an earlier transaction, and ends in this one or a later one.
_RANKS = {TrialPlanned: -2, AttemptReleased: -1, DeviceChanged: 1, DeviceDrained: 1}


class DatabaseRecorder:
    """See `podium.sweep.lifecycle.scheduler_interfaces.Recorder`."""

    def __init__(
        self,
        database: Database,
        holder: str = "",
        *,
        clock: Clock | None = None,
        after_epoch: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        """Take over from any other scheduler, whose writes are rejected from now on.

        `after_epoch`: the highest epoch that a slot may have seen. That of the database is lower after a backup was
        restored. `leader_epoch`: of the lease of the service; raises `FencedError` if another service leads.
        """
        self._database = database
        self._clock = clock or SystemClock()
        self._seen_s = self._clock.monotonic_s()
        with database.write() as connection:
            device_history.take_over(connection, self._clock.wall_s())
            self.epoch = scheduler_lease.take(
                connection, holder, self._clock.wall_s(), after=after_epoch, leader_epoch=leader_epoch
            )

    def commit(self, changes: Sequence[Change]) -> None:
        """Write all changes, or raise `DatabaseError` and write nothing.

        In order, but first new trials and attempts that have left their devices, and devices last: in between, each
        would be a statement of its own. Raises `FencedError` if another scheduler has taken over. A commit of metric
        points and usage does not wait for the disk.
        """
        kinds = {type(change) for change in changes}
        if len(kinds) > 1:  # most commits are metric points only
            changes = sorted(changes, key=lambda change: _RANKS.get(type(change), 0))
        with self._database.write(durable=not kinds.isdisjoint(DURABLE)) as connection:
            scheduler_lease.check(connection, self.epoch)
            for kind, group in groupby(changes, key=type):
                _WRITERS[kind](connection, list(group))

    def confirm(self) -> None:
        """Raises `FencedError` if another scheduler has taken over, and other errors if the database cannot tell.

        To be called before an effect that no transaction guards.
        """
        with self._database.read() as connection:
            scheduler_lease.check(connection, self.epoch)

    def service_name(self) -> str:
        """The random name of this service."""
        with self._database.read() as connection:
            return stored_service_name.read(connection)

    def open_sweeps(self, known: frozenset[int]) -> list[StoredSweep]:
        """Every sweep with work left that is not in `known`, with its trials.

        Unfinished sweeps, finished ones with unfinished trials, and those that a client has resumed. Without those that
        wait for their predecessors.
        """
        with self._database.read() as connection:
            found = [sweep for sweep in sweeps.unfinished(connection) if sweep.id not in known]
            warnings = sweep_warnings.warnings_of(connection, [sweep.id for sweep in found])
            return [
                StoredSweep(
                    sweep.id, sweep.state, sweep.spec_json, sweep.created_at,
                    scheduler_recovery.stored_trials(connection, sweep.id), sweep.reason, sweep.run_cap, sweep.priority,
                    sweep.terms, sweep.started_at, sweep.ended_at, sweep.over_s,
                    attempt_totals.device_s(connection, sweep.id),
                    () if sweep.warm_start is None else warm_starts.earlier_trials(connection, sweep.id),
                    {warning.code: warning.message for warning in warnings.get(sweep.id, ())}, sweep.wait,
                )
                for sweep in found
            ]  # fmt: skip

    def held_sweeps(self) -> list[HeldSweep]:
        """The sweeps that wait for their predecessors, with the states of these."""
        with self._database.read() as connection:
            return sweep_predecessors.held_sweeps(connection)

    def pending_commands(self, known: frozenset[int]) -> PendingCommands:
        """The pending commands for the sweeps in `known`, their trials, and devices."""
        with self._database.read() as connection:
            return PendingCommands(
                sweeps=sweeps.requested_updates(connection, known),
                trials=pending_client_requests.pending_requests(connection),
                enqueued=pending_client_requests.enqueued(connection),
                dedicated=member_replicas.dedicated(connection),
                members=member_replicas.member_devices(connection),
                drained=tuple(devices.drains(connection)),
            )

    def forget_devices(self, keep: Sequence[str]) -> None:
        """Remove the devices of an earlier start that no longer exist. Raises `FencedError`."""
        with self._database.write() as connection:
            scheduler_lease.check(connection, self.epoch)
            devices.forget(connection, keep)

    def record_devices(self, present: Collection[str]) -> None:
        """All slots are open on these devices; other devices no longer exist. In any thread."""
        with contextlib.suppress(DatabaseError), self._database.write() as connection:
            scheduler_lease.check(connection, self.epoch)
            device_history.record_departures(connection, present, self._clock.wall_s())

    def record_heartbeat(self) -> None:
        """Record every few seconds that the scheduler runs, so that after a kill the next scheduler knows how long it
        ran.

        Raises `FencedError` and `DamagedError`. Other database errors are ignored: a late heartbeat has no use.
        """
        now_s = self._clock.monotonic_s()
        if now_s - self._seen_s < HEARTBEAT_S:
            return
        self._seen_s = now_s
        try:
            with self._database.write(durable=False) as connection:
                scheduler_lease.check(connection, self.epoch)
                device_history.record_heartbeat(connection, self._clock.wall_s())
        except (FencedError, DamagedError):
            raise
        except DatabaseError:
            pass

    def stop(self) -> None:
        """The scheduler ends: from now on no device is in use."""
        with contextlib.suppress(DatabaseError), self._database.write() as connection:
            scheduler_lease.check(connection, self.epoch)
            device_history.stop(connection, self._clock.wall_s())

    def read_study(self, sweep_id: int, request: StudyRequested) -> dict[str, Any]:
        """The answer to a trial's query of its study, as plain JSON values; in any thread."""
        with self._database.read() as connection:
            return trial_study_queries.answer_query(connection, sweep_id, request)

    def last_trial_id(self) -> int:
        """The highest trial id in use; 0 when there is none."""
        with self._database.read() as connection:
            return scheduler_recovery.last_id(connection)
