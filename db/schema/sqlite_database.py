"""A SQLite database: WAL, one writer per process, two levels of durability; every process that opens the database.

`PRAGMA synchronous` cannot change inside a transaction, and readers must not use BEGIN IMMEDIATE, so there are three
engines. `full` is for acknowledged changes (accepted, finished); `normal` is for metric points: a power failure may
lose the last ones but damages none.
"""

from __future__ import annotations

import importlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError as SqlError
from sqlalchemy.pool import Pool, QueuePool, StaticPool

from podium.db.schema.replaced_file_check import FileWatch
from podium.db.schema.sqlite_errors import UNCERTAIN, code_of, refusal
from podium.db.schema.transaction_observer import OnProgress, report_part, report_progress
from podium.sweep.runtime.fail_points import commit_point, fail_point
from podium.sweep.values.errors import DatabaseError

# Earlier versions can corrupt a WAL database with several writers.
WAL_SAFE = (3, 51, 3)
BUSY_S = 5.0
_STEPS = 100_000  # of SQLite's virtual machine between two deadline checks: about a millisecond


def sqlite_module() -> ModuleType:
    """The newest available SQLite: the package `pysqlite3` if installed and newer, else the interpreter's."""
    try:
        bundled: ModuleType = importlib.import_module("pysqlite3")
    except ImportError:
        return sqlite3
    return bundled if bundled.sqlite_version_info > sqlite3.sqlite_version_info else sqlite3


def connect(path: Path, mode: str, busy_s: float = BUSY_S) -> Any:
    """A plain connection; `mode` is `ro`, `rw`, or `rwc` to create a missing file.

    A database in a read-only folder is read without locks, since SQLite cannot create its lock files there.
    """
    still = "&immutable=1" if mode == "ro" and is_unchanged(path) else ""
    uri = f"file:{quote(str(path))}?mode={mode}{still}"
    return sqlite_module().connect(uri, uri=True, timeout=busy_s, check_same_thread=False)


def is_unchanged(path: Path) -> bool:
    """Whether the database is immutable: its folder is not writable, and it has no pending log."""
    logs = (path.with_name(path.name + suffix) for suffix in ("-wal", "-journal"))
    in_use = any(log.exists() and log.stat().st_size > 0 for log in logs)
    return path.is_file() and not in_use and not os.access(path.parent, os.W_OK)


def connect_read_only(path: Path) -> Any:
    """A read-only connection, or a writable one if the journal of a killed writer must be rolled back first."""
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
    """Interrupt statements of the connection after `seconds`."""
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


class SqliteDatabase:
    """The database of one data directory in one process.

    Only migrations `create` it: a component that finds it missing must not create an empty one.
    """

    def __init__(
        self, path: Path, *, create: bool = False, busy_s: float = BUSY_S, on_progress: OnProgress | None = None
    ) -> None:
        """`on_progress`: called between the parts of a transaction, in its thread."""
        self.path = path
        self.name = str(path)
        self._mode = "rwc" if create else "ro" if is_unchanged(path) else "rw"
        self._busy_s = busy_s
        self._on_progress = on_progress
        self._module = sqlite_module()
        self.journal_mode = "WAL" if self._module.sqlite_version_info >= WAL_SAFE else "DELETE"
        self._full = self._engine("FULL", writes=True)
        self._normal = self._engine("NORMAL", writes=True)
        self._readers = self._engine("NORMAL", writes=False)
        self._write_lock = threading.Lock()
        self._writers: dict[Pool, Connection] = {}  # between transactions, one per engine
        self._watch = FileWatch(path)

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Connection]:
        """One write transaction. `durable`: it survives a power failure once this returns.

        Raises `StorageFullError` if the disk is full, `DamagedError` if it is unknown what was written or if the files
        were replaced, and `DatabaseError` if another process holds a lock for too long.
        """
        engine = self._full if durable else self._normal
        if not self._write_lock.acquire(timeout=self._busy_s):
            raise DatabaseError(f"cannot write to {self.path}: too many writers waiting; nothing was written, retry")
        try:
            with self._explained("write to"), self._transaction(engine) as connection:
                self._watch.check()
                yield connection
                fail_point(commit_point("before"))
            fail_point(commit_point("after"))
        finally:
            self._write_lock.release()

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Connection]:
        """A transaction on a connection that stays open until one fails: SQLAlchemy takes long to open one."""
        pool = engine.pool  # replaced when all connections are closed
        connection = self._writers.pop(pool, None) or engine.connect()
        try:
            with connection.begin():
                yield connection
            report_part(connection.connection.info)  # the end of the commit
        except BaseException:
            connection.close()
            raise
        if engine.pool is pool:
            self._writers[pool] = connection
        else:
            connection.close()

    def write_unordered(self) -> AbstractContextManager[Connection]:
        """See `Database`: SQLite has one writer."""
        return self.write(durable=False)

    @contextmanager
    def read(self, *, within_s: float | None = None) -> Iterator[Connection]:
        """One read transaction with a consistent snapshot. Raises `DatabaseError`.

        Raises `TooSlowError` if a statement still runs `within_s` seconds after the start.
        """
        with self._explained("read"), self._readers.begin() as connection, _within(connection, within_s):
            yield connection

    def on_events(self, callback: Callable[[], None]) -> None:
        """See `Database`: SQLite does not tell other processes."""

    def close(self) -> None:
        """Close all connections; closing the last one of all processes checkpoints the write-ahead log.

        The next transaction opens the file that is there by then.
        """
        self._close_connections()
        self._watch = FileWatch(self.path)

    def _close_connections(self) -> None:
        for pool in list(self._writers):
            if (connection := self._writers.pop(pool, None)) is not None:
                connection.close()
        for engine in (self._readers, self._normal, self._full):
            engine.dispose()

    @contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        """Translate SQLite errors. After an error with unknown outcome all connections are reopened."""
        try:
            yield
        except (SqlError, self._module.DatabaseError) as error:
            cause = error.orig if isinstance(error, SqlError) else error
            refused = refusal(self.path, doing, cause)
            if code_of(cause) in UNCERTAIN:
                self._close_connections()
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
            connection.isolation_level = None  # transactions are started below, not by the driver
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
            pooled = connection.connection
            driver: Any = pooled.driver_connection
            report_part(pooled.info)  # it may wait for another process
            driver.execute(begin)
            report_part(pooled.info)

        if self._on_progress is not None:
            report_progress(engine, self._on_progress)
        return engine
