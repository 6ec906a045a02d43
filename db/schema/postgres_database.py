"""PostgreSQL behind the port `Database`: one writer at a time in all processes; every process that opens the database.

SQLite lets one transaction write at a time, and everything relies on it: ids of events are in the order of commits, so
that no reader skips one, and a scheduler that was replaced cannot write between the check of its lease and its commit.
Here every write takes the same advisory lock first.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import postgres, pq, sql
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.types.numeric import FloatDumper, Int8Dumper
from psycopg.types.string import StrDumperUnknown
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionError
from sqlalchemy.pool import QueuePool

from podium.db.schema.postgres_arrays import FloatArray, IntegerArray
from podium.db.schema.postgres_errors import is_dropped, refusal, where
from podium.db.schema.sqlite_database import BUSY_S
from podium.db.schema.transaction_observer import OnProgress, report_progress
from podium.sweep.runtime.fail_points import commit_point, fail_point
from podium.sweep.values.errors import DatabaseError, TooSlowError, WrongDatabaseError

# Connections of one process: one that writes, and these for readers. A service has up to seven processes with a
# database, and one more for each gateway; a server has 100 connections by default.
READERS = 2  # kept open
MORE_READERS = 6  # under load
CONNECT_S = 5
LISTEN_S = 1.0  # between two checks whether to end
STATEMENT_S = 60.0  # of a reader in a component of a service
LOOP_STATEMENT_S = 20.0  # of every statement in a component that sends heartbeats between its statements
# A connection whose server is gone without a word ends after this time, before the heartbeats of an event loop that
# waits for it are missed (25 s).
_KEEPALIVE = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
# Of a process in a write transaction, which holds locks that others wait for: the server ends the session of one that
# was suspended, and its transaction.
IDLE_WRITE_S = 10.0

_LOCK = 0x706F6469756D  # "podium"; the key belongs to the database, so that services do not share it
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
# The lock must come before the snapshot of what the transaction reads, whatever the role's default isolation is.
_WRITE = f"{_BEGIN}; SELECT pg_advisory_xact_lock({_LOCK})"
_WRITE_FAST = f"{_BEGIN}; SET LOCAL synchronous_commit = off; SELECT pg_advisory_xact_lock({_LOCK})"
_WRITE_UNORDERED = f"{_BEGIN}; SET LOCAL synchronous_commit = off"
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_LIMIT_STATEMENTS = (
    "SELECT set_config(name, '{}', false) FROM pg_settings WHERE name = 'statement_timeout' AND source = 'default'"
)
log = logging.getLogger("podium.database")
_EVENTS = "podium_events"  # the channel of the trigger in `postgres_functions.sql`
_NOTIFY = "SELECT pg_notify(%(channel)s, %(payload)s)"
_END_SESSIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name = %(name)s AND pid <> pg_backend_pid()"
)


class _TextDumper(StrDumperUnknown):
    """Text for PostgreSQL, which has no NUL in it: a log with one is stored with its symbol instead."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\0", "\N{SYMBOL FOR NULL}") if "\0" in obj else obj)


class _FloatDumper(FloatDumper):
    """Floats for PostgreSQL: NaN is NULL, as in SQLite, so that a column without NULL refuses it."""

    def dump(self, obj: float) -> Any:
        return None if obj != obj else super().dump(obj)


class _ArrayDumper(Dumper):
    """Passes an array that is binary already."""

    format = pq.Format.BINARY

    def dump(self, obj: bytes) -> Buffer:
        return obj


class _IntegerArrayDumper(_ArrayDumper):
    oid = postgres.types["int8"].array_oid


class _FloatArrayDumper(_ArrayDumper):
    oid = postgres.types["float8"].array_oid


class _NumberLoader(Loader):
    """Sums of integers, which PostgreSQL returns as decimal numbers."""

    def load(self, data: Any) -> int | float:
        digits = bytes(data)
        return int(digits) if digits.lstrip(b"-").isdigit() else float(digits)


@dataclass
class _Progress:
    """How far a write transaction is."""

    committing: bool = False


class PostgresDatabase:
    """A PostgreSQL database in one process. See `podium.db.schema.sqlite_database.Database`."""

    def __init__(
        self,
        url: str,
        *,
        service: str | None = None,
        busy_s: float = BUSY_S,
        idle_write_s: float = IDLE_WRITE_S,
        read_s: float | None = None,
        write_s: float | None = None,
        on_progress: OnProgress | None = None,
        holder: str = "",
    ) -> None:
        """A database, to which nothing is connected yet.

        Args:
            url: As libpq reads it, with its options for TLS, such as `sslmode=verify-full`.
            service: The name of the service whose database it must be: each new connection is checked, and may
                raise `WrongDatabaseError`. None: any.
            busy_s: The longest wait for a connection or a lock.
            idle_write_s: The longest wait of the server for the next statement of a write transaction.
            read_s: The longest time of a statement of a reader, unless the URL, the role, the database or the server
                sets `statement_timeout`. None: no limit.
            write_s: The same of a write.
            on_progress: Called between the parts of a transaction, in its thread.
            holder: The start of the service to which this process belongs; its sessions can be ended by this name.
        """
        self.name = where(url)  # for messages
        self._url = url
        self._service = service
        self._session_name = session_name(holder) if holder else ""
        self._busy_s = busy_s
        self._on_progress = on_progress
        end_idle = f"idle_in_transaction_session_timeout = {round(idle_write_s * 1000)}"
        self._write_unordered = f"{_WRITE_UNORDERED}; SET LOCAL {end_idle}"  # in a session of readers
        self._writer = self._engine([f"SET {end_idle}", *_statement_limit(write_s)], pool_size=1, max_overflow=0)
        self._readers = self._engine(_statement_limit(read_s), pool_size=READERS, max_overflow=MORE_READERS)
        self._write_lock = threading.Lock()
        self._listeners: set[threading.Event] = set()  # each is set when its thread must end

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Connection]:
        """See `Database`."""
        if not self._write_lock.acquire(timeout=self._busy_s):
            raise DatabaseError(f"cannot write to {self.name}: too many writers waiting; nothing was written, retry")
        try:
            start = _WRITE if durable else _WRITE_FAST
            with self._explained("write to") as progress, self._begin(self._writer, start) as connection:
                yield connection
                fail_point(commit_point("before"))
                progress.committing = True
                connection.commit()
            fail_point(commit_point("after"))
        finally:
            self._write_lock.release()

    @contextmanager
    def write_unordered(self) -> Iterator[Connection]:
        """See `Database`: without the lock of all writes."""
        with self._explained("write to") as progress, self._begin(self._readers, self._write_unordered) as connection:
            yield connection
            progress.committing = True
            connection.commit()

    def end_sessions(self, holder: str) -> None:
        """End the sessions of all processes of a start of a service; their transactions are rolled back.

        Raises `DatabaseError` if this role may not do that: the sessions belong to another role.
        """
        with self.write_unordered() as connection:
            connection.exec_driver_sql(_END_SESSIONS, {"name": session_name(holder)})

    @contextmanager
    def read(self, *, within_s: float | None = None) -> Iterator[Connection]:
        """See `Database`."""
        with self._explained("read", limited=within_s is not None), self._begin(self._readers, _READ) as connection:
            if within_s is not None:
                _limit(connection, within_s)
            yield connection

    def on_events(self, callback: Callable[[], None]) -> None:
        """See `Database`. Uses a connection of its own until this is closed."""
        self.listen(_EVENTS, lambda _: callback())

    def listen(self, channel: str, callback: Callable[[str], None]) -> Callable[[], None]:
        """Call `callback`, in a thread, with the payload of each notification on a channel; returns what ends that.

        Uses a connection of its own until then, or until this is closed. While the connection is lost, notifications
        are missed.
        """
        closed = threading.Event()
        self._listeners.add(closed)
        threading.Thread(target=self._listen, args=(channel, callback, closed), name=channel, daemon=True).start()

        def end() -> None:
            closed.set()
            self._listeners.discard(closed)

        return end

    def notify(self, channel: str, payload: str) -> None:
        """Notify those who listen on a channel. Raises `DatabaseError`."""
        with self.write_unordered() as connection:
            connection.exec_driver_sql(_NOTIFY, {"channel": channel, "payload": payload})

    def _listen(self, channel: str, callback: Callable[[str], None], closed: threading.Event) -> None:
        is_known = False  # whether the current failure has been logged
        while not closed.is_set():
            try:
                with self._connect() as connection:
                    connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                    is_known = False
                    while not closed.is_set():
                        for notification in connection.notifies(timeout=LISTEN_S, stop_after=1):
                            if not closed.is_set():
                                callback(notification.payload)
            except Exception as error:  # noqa: BLE001 - of the callback as well: what it would have done, polls do later
                if not is_known:
                    log.warning("cannot listen on channel %s of %s, trying again: %s", channel, self.name, error)
                is_known = True
                closed.wait(LISTEN_S)

    def stop_listening(self) -> None:
        """End what `listen` and `on_events` have started."""
        for closed in self._listeners:
            closed.set()
        self._listeners.clear()

    def close(self) -> None:
        """Close all connections; the next transaction opens new ones."""
        self.stop_listening()
        for engine in (self._readers, self._writer):
            engine.dispose()

    @contextmanager
    def _begin(self, engine: Engine, start: str) -> Iterator[Connection]:
        """A connection in a transaction, which is rolled back at the end unless it was committed."""
        connection = _in_transaction(engine, start)
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def _explained(self, doing: str, *, limited: bool = False) -> Iterator[_Progress]:
        """Translate PostgreSQL's errors. `limited`: a read with a time limit of its own."""
        progress = _Progress()
        try:
            yield progress
        except DBAPIError as error:
            raise refusal(self.name, doing, error.orig, committing=progress.committing, limited=limited) from error
        except NoConnectionError as error:
            raise DatabaseError(f"cannot {doing} {self.name}: too many queries at once; try again") from error

    def _engine(self, settings: Sequence[str], **pool: Any) -> Engine:
        engine = create_engine(
            "postgresql+psycopg://",
            creator=self._connect,
            poolclass=QueuePool,
            pool_timeout=self._busy_s,
            use_native_hstore=False,
            **pool,
        )

        @event.listens_for(engine, "connect")
        def on_connect(connection: Any, _record: Any) -> None:
            limits = (f"SET lock_timeout = {round(self._busy_s * 1000)}", "SET jit = off", *settings)
            connection.execute("; ".join(limits))

        if self._on_progress is not None:
            report_progress(engine, self._on_progress)
        return engine

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            connection = psycopg.connect(self._url, autocommit=True, **self._defaults())
        except psycopg.OperationalError as error:
            if self._service is not None and is_dropped(error):
                raise WrongDatabaseError(f"{self.name} no longer exists; restore a backup") from error
            raise
        if self._service is not None:
            try:
                _check_service(connection, self._service, self.name)
            except BaseException:
                connection.close()
                raise
        connection.adapters.register_dumper(int, Int8Dumper)  # always the same, so that statements are prepared once
        connection.adapters.register_dumper(str, _TextDumper)
        connection.adapters.register_dumper(float, _FloatDumper)
        connection.adapters.register_loader("numeric", _NumberLoader)
        connection.adapters.register_dumper(IntegerArray, _IntegerArrayDumper)
        connection.adapters.register_dumper(FloatArray, _FloatArrayDumper)
        return connection

    def _defaults(self) -> dict[str, Any]:
        """Options that the URL does not set."""
        given = psycopg.conninfo.conninfo_to_dict(self._url)
        names = {"application_name": "podium", "client_encoding": "UTF8"}
        ours: dict[str, Any] = {"connect_timeout": CONNECT_S, **_KEEPALIVE, **names}
        named = {"application_name": self._session_name} if self._session_name else {}
        return {name: value for name, value in ours.items() if name not in given} | named


def session_name(holder: str) -> str:
    """The `application_name` of the sessions of a start of a service."""
    return f"podium-{holder}"


def _check_service(connection: psycopg.Connection[Any], service: str, name: str) -> None:
    """Raises `WrongDatabaseError` if it is not the database of this service; then the connection is closed."""
    try:
        found = connection.execute("SELECT name FROM service").fetchone()
    except psycopg.errors.UndefinedTable:
        found = None
    if found is None or found[0] != service:
        connection.close()
        what = "has no tables of Podium" if found is None else f"belongs to the service {found[0]}"
        raise WrongDatabaseError(
            f"{name} {what}, and this is the service {service}; was it replaced? Give the URL of its own database"
        )


def _statement_limit(seconds: float | None) -> list[str]:
    """What limits the statements of a session, unless that was set elsewhere, also to 0, which is no limit."""
    if seconds is None:
        return []
    return [_LIMIT_STATEMENTS.format(round(seconds * 1000))]


def _in_transaction(engine: Engine, start: str) -> Connection:
    """A connection that has started a transaction: a new one, if the server has closed that of the pool."""
    try:
        return _started(engine, start)
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
        return _started(engine, start)


def _started(engine: Engine, start: str) -> Connection:
    connection = engine.connect()
    try:
        connection.exec_driver_sql(start)
    except DBAPIError:
        connection.close()
        raise
    return connection


def _limit(connection: Connection, seconds: float) -> None:
    """Cancel a statement of this transaction that still runs after `seconds`."""
    until_s = time.monotonic() + seconds

    @event.listens_for(connection, "before_cursor_execute")
    def limit(_connection: Connection, cursor: Any, *_: object) -> None:
        left_ms = round((until_s - time.monotonic()) * 1000)
        if left_ms <= 0:
            raise TooSlowError
        cursor.execute(f"SET LOCAL statement_timeout = {left_ms}")
