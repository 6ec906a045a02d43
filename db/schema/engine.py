"""Opening SQLite so that it is durable and quick: WAL, one writer a process, two grades of durability.

`PRAGMA synchronous` cannot change inside a transaction, and readers must not be forced into BEGIN IMMEDIATE: so
there are three engines. `full` is for what a client was promised (accepted, finished), `normal` for metric points,
which a power failure may shorten, never damage.
"""

from __future__ import annotations

import importlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError as SqlError
from sqlalchemy.pool import QueuePool, StaticPool

from podium.db.schema.file_watch import FileWatch
from podium.db.schema.sqlite_errors import SPOILED, code_of, refusal
from podium.sweep.runtime.fail_points import AFTER_COMMIT, BEFORE_COMMIT, passing
from podium.sweep.values.errors import DatabaseError

# Versions before this can corrupt a WAL database that has several writers.
WAL_SAFE = (3, 51, 3)
BUSY_S = 5.0
_STEPS = 100_000  # of SQLite's machine between two looks at the clock: about a millisecond


def sqlite_module() -> ModuleType:
    """The newest SQLite at hand: the wheel `pysqlite3` where it is installed, else the interpreter's own."""
    try:
        bundled: ModuleType = importlib.import_module("pysqlite3")
    except ImportError:
        return sqlite3
    return bundled if bundled.sqlite_version_info > sqlite3.sqlite_version_info else sqlite3


def connect(path: Path, mode: str, busy_s: float = BUSY_S) -> Any:
    """A bare connection; `mode` is `ro`, `rw`, or `rwc` to create what is missing.

    What lies where nobody can write, a read-only disk or copy, is read without locks: SQLite cannot make its own.
    """
    still = "&immutable=1" if mode == "ro" and is_still(path) else ""
    uri = f"file:{quote(str(path))}?mode={mode}{still}"
    return sqlite_module().connect(uri, uri=True, timeout=busy_s, check_same_thread=False)


def is_still(path: Path) -> bool:
    """Whether the database cannot change: its folder cannot be written, and it has no log that belongs to it."""
    logs = (path.with_name(path.name + suffix) for suffix in ("-wal", "-journal"))
    in_use = any(log.exists() and log.stat().st_size > 0 for log in logs)
    return path.is_file() and not in_use and not os.access(path.parent, os.W_OK)


def connect_to_look(path: Path) -> Any:
    """A bare connection that changes nothing, unless a killed writer's journal must be rolled back before one can."""
    connection = connect(path, "ro")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite_module().Error as error:
        if code_of(error) == sqlite3.SQLITE_READONLY:
            connection.close()
            return connect(path, "rw")
    return connection


@contextmanager
def _within(connection: Connection, seconds: float | None) -> Iterator[None]:
    """SQLite looks at the clock while it works, and gives up when the time is over."""
    if seconds is None:
        yield
        return
    until_s = time.monotonic() + seconds
    driver: Any = connection.connection.driver_connection
    driver.set_progress_handler(lambda: time.monotonic() > until_s, _STEPS)
    try:
        yield
    finally:
        driver.set_progress_handler(None, 0)


class Database:
    """The database of one data directory, as one process sees it.

    Only migrations `create` it: a part that finds it gone must not begin another.
    """

    def __init__(self, path: Path, *, create: bool = False, busy_s: float = BUSY_S) -> None:
        self.path = path
        self._mode = "rwc" if create else "ro" if is_still(path) else "rw"
        self._busy_s = busy_s
        self._module = sqlite_module()
        self.journal_mode = "WAL" if self._module.sqlite_version_info >= WAL_SAFE else "DELETE"
        self._full = self._engine("FULL", writes=True)
        self._normal = self._engine("NORMAL", writes=True)
        self._readers = self._engine("NORMAL", writes=False)
        self._write_lock = threading.Lock()
        self._watch = FileWatch(path)

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Connection]:
        """One write transaction. `durable`: it survives a power failure before this returns.

        Raises `StorageFullError` when there is no room, `DamagedError` when it is unknown what was written or the
        files are not those that were opened, and `DatabaseError` when others hold a lock for too long.
        """
        engine = self._full if durable else self._normal
        if not self._write_lock.acquire(timeout=self._busy_s):
            raise DatabaseError(f"cannot write to {self.path}: too many writers wait; nothing was written, try again")
        try:
            with self._explained("write to"), engine.begin() as connection:
                self._watch.check()
                yield connection
                passing(BEFORE_COMMIT)
            passing(AFTER_COMMIT)
        finally:
            self._write_lock.release()

    @contextmanager
    def read(self, *, within_s: float | None = None) -> Iterator[Connection]:
        """One read transaction: everything in it sees the same state. Raises `DatabaseError`.

        Raises `TooSlowError` when a statement goes on for longer than `within_s` after the beginning.
        """
        with self._explained("read"), self._readers.begin() as connection, _within(connection, within_s):
            yield connection

    def close(self) -> None:
        """Give back every connection; the last one out empties the write-ahead log."""
        for engine in (self._readers, self._normal, self._full):
            engine.dispose()

    @contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        """Errors with a sentence. After one that leaves doubt, no connection is used again: the next one is new."""
        try:
            yield
        except SqlError as error:
            refused = refusal(self.path, doing, error.orig)
            if code_of(error.orig) in SPOILED:
                self.close()
                self._watch.reopened()
            raise refused from error

    def _engine(self, synchronous: str, *, writes: bool) -> Engine:
        pool: dict[str, Any] = (
            {"poolclass": StaticPool} if writes else {"poolclass": QueuePool, "pool_size": 8, "max_overflow": 32}
        )
        engine = create_engine(
            "sqlite+pysqlite://",
            module=self._module,
            creator=lambda: connect(self.path, self._mode, self._busy_s),
            **pool,
        )
        begin = "BEGIN IMMEDIATE" if writes else "BEGIN"

        @event.listens_for(engine, "connect")
        def on_connect(connection: Any, _record: Any) -> None:
            connection.isolation_level = None  # transactions are begun below, not by the driver
            cursor = connection.cursor()
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
