"""The host's loop: reconciles replicas with the database and updates the state of each ensemble; host process.

All state can be rebuilt from the database and the running workers: after a restart, the host adopts the workers that
are alive and replaces the others. Slow work runs elsewhere, so that a failed replica is replaced immediately: networks
are loaded in the workers; building and evaluating run in `podium.ensemble.host.background_task_runner`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable

from sqlalchemy import Connection

from podium.db.schema.database import Database
from podium.db.stores import ensemble_reader, ensemble_writer, member_replicas
from podium.db.stores.ensemble_reader import EnsembleRow
from podium.ensemble.host.desired_replicas import replica_specs
from podium.ensemble.host.ensemble_status import can_take_over, has_ready_member, status_of
from podium.ensemble.host.replica_controller import ReplicaController
from podium.ensemble.host.worker_launcher_interface import WorkerLauncher
from podium.ensemble.values.ensemble_states import EnsembleState
from podium.sweep.runtime.clock import Clock
from podium.sweep.runtime.component_startup_and_heartbeats import wake_gateways
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import DatabaseError, PodiumError

TICK_S = 0.5
log = logging.getLogger("podium.host")


class HostLoop:
    """Runs reconciliation steps until stopped."""

    def __init__(self, settings: ServiceSettings, database: Database, launcher: WorkerLauncher, clock: Clock) -> None:
        self._settings = settings
        self._database = database
        self._clock = clock
        self._controller = ReplicaController(settings, database, launcher, clock, on_change=self.wake)
        self._wake_event = threading.Event()
        self._first_step = True
        self._stopping = False

    def wake(self) -> None:
        """Run the next step now: a request arrived, or a worker's socket was found broken."""
        self._wake_event.set()

    def stop(self) -> None:
        """End the loop; the workers keep running for the next host."""
        self._stopping = True
        self._wake_event.set()

    def run(self, on_turn: Callable[[], None] = lambda: None) -> None:
        """Run steps until `stop` is called; `on_turn` is called before each step."""
        while not self._stopping:
            on_turn()
            try:
                self.step()
            except PodiumError as error:
                log.error("%s; retrying", error)
            except Exception:
                log.exception("a step failed; retrying")
            self._wake_event.wait(self._controller.idle_s(TICK_S))
            self._wake_event.clear()

    def step(self) -> None:
        """Reconcile the replicas, update the states, and notify the gateways of changes."""
        with self._database.read() as connection:
            rows = ensemble_reader.wanted(connection)
            running = member_replicas.running(connection)
        changed = self._controller.reconcile([spec for row in rows for spec in replica_specs(row)], running)
        changed |= self._update_states(self._wanted() if changed else rows)
        self._first_step = False
        if changed:
            wake_gateways(self._settings)

    def _wanted(self) -> list[EnsembleRow]:
        with self._database.read() as connection:
            return ensemble_reader.wanted(connection)

    def _update_states(self, rows: Iterable[EnsembleRow]) -> bool:
        """Activate target versions that are ready and write each ensemble's state. Returns whether any changed."""
        due = [row for row in rows if self._can_take_over(row) or self._status_of(row) != (row.state, row.reason)]
        for row in due:
            try:
                with self._database.write() as connection:
                    self._write(connection, row)
            except DatabaseError:
                raise
            except Exception:
                log.exception("cannot update the state of ensemble %d; retrying", row.id)
        return bool(due)

    def _write(self, connection: Connection, row: EnsembleRow) -> None:
        at = self._clock.wall_s()
        if row.target is not None and self._can_take_over(row):
            log.info("version %d of ensemble %s takes over from version %d", row.target, row.name, row.version)
            ensemble_writer.activate(connection, row.id, row.target, at)
            row = ensemble_reader.get(connection, row.id)
        state, reason = self._status_of(row)
        if (state, reason) != (row.state, row.reason):
            ensemble_writer.change(connection, row.id, state, reason, at=at)

    def _status_of(self, row: EnsembleRow) -> tuple[EnsembleState, str]:
        """The current status. At the host's first step, an ensemble without a ready member is warming up again."""
        restarted = self._first_step and not has_ready_member(row.active)
        return status_of(row, EnsembleState.WARMING if restarted else row.state)

    @staticmethod
    def _can_take_over(row: EnsembleRow) -> bool:
        return row.target is not None and can_take_over(row.versions[row.target])
