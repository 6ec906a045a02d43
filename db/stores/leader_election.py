"""Renews the lease of the service that leads, takes it when it has expired, or stands by.

The leader renews its lease in a write that waits for no other one: a long transaction does not cost it the lease.
Before a service takes the lease of another one, the server ends the sessions of that one: a predecessor that was
suspended in a transaction would hold the lock of all writes, and could commit when it continues.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from podium.db.schema.database import Database
from podium.db.stores import leader_lease
from podium.db.stores.leader_lease import Contender, Lease
from podium.sweep.values.errors import DatabaseError

log = logging.getLogger("podium.leadership")


@dataclass(frozen=True, slots=True)
class LeaderState:
    """`epoch`: of the lease if this service leads, else 0. `lease`: as it was found, None before the first service."""

    epoch: int
    lease: Lease | None


class Leadership:
    """One start of a service among those of its database."""

    def __init__(
        self,
        database: Database,
        contender: Contender,
        *,
        end_sessions: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """A service that does not lead yet.

        Args:
            database: Of the services.
            contender: This service.
            end_sessions: Ends the sessions of the service of this holder with the database.
            clock: The time of the database's clock, for tests; None: asks the database.
        """
        self._database = database
        self._contender = contender
        self._end_sessions = end_sessions
        self._clock = clock
        self._epoch = 0

    def use_ray(self, ray: str) -> None:
        """Set the id of the Ray cluster of this service, which the next renewal writes."""
        self._contender = replace(self._contender, ray=ray)

    def try_acquire_or_renew(self) -> LeaderState:
        """Renew the lease, or take it if that is allowed, or record that this service stands by.

        Raises `DatabaseError`.

        An earlier process of the same start of the service has led with the same epoch.
        """
        lease = self._read()
        if lease is not None and lease.leader.holder == self._contender.holder:
            self._epoch = lease.epoch
            if self._renew():
                return LeaderState(self._epoch, lease)
            lease = self._read()  # another service has taken it in the meantime
        self._epoch = 0
        if lease is None or lease.has_expired or self._contender.succeeds(lease.leader):
            self._take(lease)
        if not self._epoch:
            with self._database.write_unordered() as connection:
                leader_lease.stand_by(connection, self._contender, self._now())
        return LeaderState(self._epoch, lease)

    def release(self) -> None:
        """Let another service lead at once, since this one stops. Raises `DatabaseError`."""
        with self._database.write_unordered() as connection:
            leader_lease.release(connection, self._contender.holder, self._epoch)
            leader_lease.leave(connection, self._contender.holder)

    def _read(self) -> Lease | None:
        with self._database.read() as connection:
            return leader_lease.read(connection, self._now())

    def _renew(self) -> bool:
        with self._database.write_unordered() as connection:
            return leader_lease.renew(connection, self._contender, self._epoch, self._now())

    def _take(self, lease: Lease | None) -> None:
        if lease is not None:
            try:
                self._end_sessions(lease.leader.holder)
            except DatabaseError as error:  # the server ends those that hold its lock after `IDLE_WRITE_S`
                log.warning("cannot end the sessions of the service that led: %s", error)
        with self._database.write() as connection:
            self._epoch = leader_lease.take(connection, self._contender, self._now(), predecessor=lease)
        if self._epoch and lease is not None:
            log.warning(
                "took the lease with epoch %d from %s on %s", self._epoch, lease.leader.holder, lease.leader.host
            )

    def _now(self) -> float | None:
        return None if self._clock is None else self._clock()
