"""Keeps the ensembles that the database wants: a worker on every post, and each one's state; host process.

A loop over what is wanted and what is there. It holds nothing that it could not find again: killed and started anew,
it takes the workers that live, and replaces those that do not. What takes long is done elsewhere, so that a dead
member is replaced at once: loading in the workers, building and evaluating in `podium.ensemble.host.background`.
"""

from __future__ import annotations

import logging
import threading

from sqlalchemy import Connection

from podium.db.schema.engine import Database
from podium.db.stores import ensemble_changes, ensembles, replicas
from podium.db.stores.ensembles import EnsembleRow
from podium.ensemble.host.ensemble_status import has_ready_member, may_take_over, standing
from podium.ensemble.host.replica_controller import Keeper
from podium.ensemble.host.replica_spec import posts_of
from podium.ensemble.host.worker_port import Workers
from podium.ensemble.values.ensemble_spec import EnsembleState
from podium.sweep.runtime.clock import Clock
from podium.sweep.runtime.component import wake
from podium.sweep.runtime.settings import ServiceSettings
from podium.sweep.values.errors import DatabaseError, PodiumError

TICK_S = 0.5
log = logging.getLogger("podium.host")


class Host:
    """See the module."""

    def __init__(self, settings: ServiceSettings, database: Database, workers: Workers, clock: Clock) -> None:
        self._settings = settings
        self._database = database
        self._clock = clock
        self._keeper = Keeper(settings, database, workers, clock, self.wake)
        self._news = threading.Event()
        self._first = True
        self._stopping = False

    def wake(self) -> None:
        """Look at the database and at the workers now: somebody asked, or found a worker's socket broken."""
        self._news.set()

    def stop(self) -> None:
        """End the loop; the workers live on, for the next host."""
        self._stopping = True
        self._news.set()

    def run(self) -> None:
        """Keep things as they are wanted until `stop`."""
        while not self._stopping:
            try:
                self.step()
            except PodiumError as error:
                log.error("%s; trying again", error)
            except Exception:
                log.exception("a step failed; trying again")
            self._news.wait(self._keeper.rest_s(TICK_S))
            self._news.clear()

    def step(self) -> None:
        """Compare what is wanted with what is there, act on the difference, and write down how it stands."""
        with self._database.read() as connection:
            rows = ensembles.wanted(connection)
            running = replicas.running(connection)
        changed = self._keeper.tend([post for row in rows for post in posts_of(row)], running)
        changed |= self._judge()
        self._first = False
        if changed:
            wake(self._settings.runtime.wake_socket("gateway"))

    def _judge(self) -> bool:
        """Let versions take over that are ready, and write each ensemble's state; whether anything changed."""
        with self._database.read() as connection:
            rows = ensembles.wanted(connection)
        due = [row for row in rows if self._takes_over(row) or self._standing(row) != (row.state, row.reason)]
        for row in due:
            try:
                with self._database.write() as connection:
                    self._write(connection, row)
            except DatabaseError:
                raise
            except Exception:
                log.exception("ensemble %d cannot be judged; trying again", row.id)
        return bool(due)

    def _write(self, connection: Connection, row: EnsembleRow) -> None:
        at = self._clock.wall_s()
        if row.target is not None and self._takes_over(row):
            log.info("version %d of ensemble %s takes over from version %d", row.target, row.name, row.version)
            ensemble_changes.activate(connection, row.id, row.target, at)
            row = ensembles.get(connection, row.id)
        state, reason = self._standing(row)
        if (state, reason) != (row.state, row.reason):
            ensemble_changes.change(connection, row.id, state, reason, at)

    def _standing(self, row: EnsembleRow) -> tuple[EnsembleState, str]:
        """The ensembles that we find without one living member begin anew: the service was stopped meanwhile."""
        anew = self._first and not has_ready_member(row.active)
        return standing(row, EnsembleState.WARMING if anew else row.state)

    @staticmethod
    def _takes_over(row: EnsembleRow) -> bool:
        return row.target is not None and may_take_over(row.versions[row.target])
