"""Opening SQLite so that it is durable and quick: WAL, one writer a process, two grades of durability.

`PRAGMA synchronous` cannot change inside a transaction, and readers must not be forced into BEGIN IMMEDIATE: so
there are three engines. `full` is for what a client was promised (accepted, finished), `normal` for metric points,
which a power failure may shorten, never damage.
"""

from __future__ import annotations

import importlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError as SqlError
from sqlalchemy.pool import QueuePool, StaticPool

from sweep.errors import DatabaseError

# Versions before this can corrupt a WAL database that has several writers.
_WAL_SAFE = (3, 51, 3)
_BUSY_TIMEOUT_MS = 15_000


def sqlite_module() -> ModuleType:
    """The newest SQLite at hand: the wheel `pysqlite3` where it is installed, else the interpreter's own."""
    try:
        bundled: ModuleType = importlib.import_module("pysqlite3")
    except ImportError:
        return sqlite3
    return bundled if bundled.sqlite_version_info > sqlite3.sqlite_version_info else sqlite3


class Database:
    """The database of one data directory, as one process sees it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._module = sqlite_module()
        self.journal_mode = "WAL" if self._module.sqlite_version_info >= _WAL_SAFE else "DELETE"
        self._full = self._engine("FULL", writes=True)
        self._normal = self._engine("NORMAL", writes=True)
        self._readers = self._engine("NORMAL", writes=False)
        self._write_lock = threading.Lock()

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Connection]:
        """One write transaction. `durable`: it survives a power failure before this returns.

        Raises `DatabaseError` when the database is locked for too long, full, or damaged.
        """
        engine = self._full if durable else self._normal
        try:
            with self._write_lock, engine.begin() as connection:
                yield connection
        except SqlError as error:
            raise DatabaseError(f"cannot write to {self.path}: {error.orig}") from error

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One read transaction: everything in it sees the same state."""
        try:
            with self._readers.begin() as connection:
                yield connection
        except SqlError as error:
            raise DatabaseError(f"cannot read {self.path}: {error.orig}") from error

    def close(self) -> None:
        """Give back every connection; the last one out empties the write-ahead log."""
        for engine in (self._readers, self._normal, self._full):
            engine.dispose()

    def _engine(self, synchronous: str, *, writes: bool) -> Engine:
        pool: dict[str, Any] = (
            {"poolclass": StaticPool} if writes else {"poolclass": QueuePool, "pool_size": 8, "max_overflow": 32}
        )
        engine = create_engine(
            URL.create("sqlite+pysqlite", database=str(self.path)),
            module=self._module,
            connect_args={"check_same_thread": False, "timeout": _BUSY_TIMEOUT_MS / 1000},
            **pool,
        )
        begin = "BEGIN IMMEDIATE" if writes else "BEGIN"

        @event.listens_for(engine, "connect")
        def on_connect(connection: Any, _record: Any) -> None:
            connection.isolation_level = None  # transactions are begun below, not by the driver
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
            if writes:
                cursor.execute(f"PRAGMA journal_mode = {self.journal_mode}")
            else:
                cursor.execute("PRAGMA query_only = ON")
            cursor.execute(f"PRAGMA synchronous = {synchronous}")
            cursor.execute("PRAGMA foreign_keys = ON")
            cursor.execute("PRAGMA temp_store = MEMORY")
            cursor.close()

        @event.listens_for(engine, "begin")
        def on_begin(connection: Connection) -> None:
            connection.exec_driver_sql(begin)

        return engine
