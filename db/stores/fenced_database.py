"""A database that refuses reads and writes when another process has taken over; ensemble host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from sqlalchemy import Connection

from podium.db.schema.database import Database
from podium.db.stores import ensemble_host_lease
from podium.sweep.values.errors import FencedError


def fenced_for_host(
    database: Database, leader_epoch: int, holder: str, at: float, on_fenced: Callable[[FencedError], None]
) -> Database:
    """The database for the ensemble host of a service that leads with this epoch: the host takes its lease.

    With epoch 0 the service is the only one (SQLite), and ends its host before it starts another: nothing is written,
    so that the host starts on a full disk. Raises `FencedError` if another service leads, and `DatabaseError`.
    """
    if not leader_epoch:
        return database
    with database.write() as connection:
        epoch = ensemble_host_lease.take(connection, holder, at, leader_epoch=leader_epoch)
    return FencedDatabase(database, lambda connection: ensemble_host_lease.check(connection, epoch), on_fenced)


class FencedDatabase:
    """See `podium.db.schema.sqlite_database.Database`."""

    def __init__(
        self, database: Database, check: Callable[[Connection], None], on_fenced: Callable[[FencedError], None]
    ) -> None:
        """A fence around a database.

        Args:
            database: As this process has opened it.
            check: Raises `FencedError` if another process has taken over; called in the transaction that it guards.
            on_fenced: Called before the error is raised, in any thread: this process must stop.
        """
        self._database = database
        self._check = check
        self._on_fenced = on_fenced
        self.name = database.name

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Connection]:
        """See `Database`. Raises `FencedError`, and writes nothing then."""
        with self._database.write(durable=durable) as connection:
            self._refuse_fenced(connection)
            yield connection

    def write_unordered(self) -> AbstractContextManager[Connection]:
        """See `Database`: here an ordered write, since only these can be fenced."""
        return self.write(durable=False)

    @contextmanager
    def read(self, *, within_s: float | None = None) -> Iterator[Connection]:
        """See `Database`. Raises `FencedError`: a process that was suspended acts on nothing that it reads."""
        with self._database.read(within_s=within_s) as connection:
            self._refuse_fenced(connection)
            yield connection

    def on_events(self, callback: Callable[[], None]) -> None:
        """See `Database`."""
        self._database.on_events(callback)

    def close(self) -> None:
        """See `Database`."""
        self._database.close()

    def _refuse_fenced(self, connection: Connection) -> None:
        try:
            self._check(connection)
        except FencedError as error:
            self._on_fenced(error)
            raise
