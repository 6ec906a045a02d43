"""The database of a service as its users see it, of whatever kind; every process that opens the database.

Implemented by `sqlite_database` and `postgres_database`; `open_database` chooses.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection


class Database(Protocol):
    """The database of a service in one process."""

    @property
    def name(self) -> str:
        """The database, for messages."""

    def write(self, *, durable: bool = True) -> AbstractContextManager[Connection]:
        """One write transaction; all of them run one after another. `durable`: it survives a power failure.

        Raises `StorageFullError` if the disk is full, `DamagedError` if it is unknown what was written, and
        `DatabaseError` if nothing was written.
        """

    def write_unordered(self) -> AbstractContextManager[Connection]:
        """A short write transaction that waits only for others of the same rows, where the database can do that.

        For rows that no reader relates to others. It may be lost in a power failure. Raises as `write`.
        """

    def read(self, *, within_s: float | None = None) -> AbstractContextManager[Connection]:
        """One read transaction with a consistent snapshot. Raises `DatabaseError`.

        Raises `TooSlowError` if a statement still runs `within_s` seconds after the start.
        """

    def on_events(self, callback: Callable[[], None]) -> None:
        """Call `callback`, in a thread, soon after transactions with events, where the database tells; else never.

        A call may be missed while the connection is lost, so polls remain necessary.
        """

    def close(self) -> None:
        """Close all connections; the next transaction opens new ones."""
