"""PostgreSQL databases of the current schema for tests: one that each test finds as if it were new."""

from __future__ import annotations

import atexit
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from podium.db.schema.database import Database
from podium.db.schema.postgres_database import PostgresDatabase
from podium.db.schema.postgres_schema_upgrade import migrate_postgres
from podium.db.schema.tables import metadata
from tests.postgres_server import ADMIN, new_server, postgres_server

NAME = "podium_test"
_LOCK_S = 2
_WRITE_LOCK = f"SELECT pg_advisory_xact_lock({int.from_bytes(b'podium', 'big')})"  # of all writes
_VACUUM_EVERY = 50  # resets: removed rows make tables longer
_TABLES = ("alembic_version", *metadata.tables)
_FILLED = " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {table})" for table in _TABLES)
_OURS = "oid >= 16384"  # made by the service, not by the server
_FINGERPRINT = "SELECT concat_ws(' ', {})".format(
    ", ".join(
        f"(SELECT count(*) || '/' || coalesce(sum(xmin::text::bigint), 0) FROM {catalog} WHERE {ours})"
        for catalog, ours in (
            *((name, _OURS) for name in ("pg_class", "pg_constraint", "pg_trigger", "pg_proc")),
            ("pg_attribute", "attrelid >= 16384"),
            ("pg_db_role_setting", "true"),
        )
    )
)


def open_postgres_database(prepare: Callable[[Database], None]) -> PostgresDatabase:
    """A database with what `prepare` writes, in place of that of the last test; its object is used again."""
    found = _opened()
    found.close()  # of a test that did not: ends its listeners
    if not _content().reset(prepare.__name__):
        found.disconnect()
        _content().recreate(prepare)
    return found


def open_separate_postgres_database(prepare: Callable[[Database], None]) -> PostgresDatabase:
    """The same with an object of its own: no other session is Podium's, and none is after the test has closed it."""
    open_postgres_database(prepare)
    _opened().disconnect()
    return PostgresDatabase(postgres_server().url(NAME))


class _PooledDatabase(PostgresDatabase):
    """A database whose connections stay when a test closes it: on new ones, each first statement takes milliseconds."""

    def close(self) -> None:
        self.stop_listening()

    def disconnect(self) -> None:
        """Close all connections."""
        super().close()


class _Content:
    """The rows and the tables of the database.

    To remove the rows that a test has written takes a tenth of the time of a new database. It is made again when a test
    has changed its tables, or replaced it.
    """

    def __init__(self) -> None:
        self._server = postgres_server()
        self._connection: psycopg.Connection[Any] | None = None  # of a superuser
        self._tables = ""  # their fingerprint
        self._rows: dict[str, dict[str, list[bytes]]] = {}  # by what prepared them, and table
        self._sequences: dict[str, str] = {}  # by what prepared them: the statement that sets the last ids
        self._resets = 0

    def reset(self, prepared: str) -> bool:
        """Make the rows those of `prepared`; False if the database must be made again."""
        if self._connection is None or prepared not in self._rows:
            return False
        try:
            with self._connection.transaction():
                if self._fingerprint(self._connection) != self._tables:
                    return False
                self._write(self._connection, prepared)
            self._resets += 1
            if self._resets % _VACUUM_EVERY == 0:
                self._connection.execute("VACUUM")
        except psycopg.Error:  # another session holds a lock, or a test has removed the database
            return False
        return True

    def recreate(self, prepare: Callable[[Database], None]) -> None:
        """Make the database again, and remember what `prepare` writes."""

        def fill(url: str) -> None:
            migrate_postgres(url)
            database = PostgresDatabase(url)
            prepare(database)
            database.close()

        if self._connection is not None:
            self._connection.close()
        self._server.create(NAME, self._server.template(prepare.__name__, fill))
        self._connection = psycopg.connect(self._server.url(NAME, ADMIN), autocommit=True)
        atexit.register(self._connection.close)
        self._connection.execute(f"SET session_replication_role = replica; SET lock_timeout = '{_LOCK_S}s'")
        self._tables = self._fingerprint(self._connection)
        self._snapshot(self._connection, prepare.__name__)

    def _fingerprint(self, connection: psycopg.Connection[Any]) -> str:
        """Differs after each change of a table, a constraint, a trigger, a function or a setting."""
        (found,) = connection.execute(_FINGERPRINT).fetchone() or ("",)
        return str(found)

    def _snapshot(self, connection: psycopg.Connection[Any], prepared: str) -> None:
        rows = {}
        for table in self._filled(connection):
            with connection.cursor().copy(f"COPY {table} TO STDOUT") as copy:
                rows[table] = [bytes(part) for part in copy]
        self._rows[prepared] = rows
        self._sequences[prepared] = "SELECT " + ", ".join(
            f"setval('{name}', {1 if last is None else last}, {last is not None})"
            for name, last in connection.execute("SELECT sequencename, last_value FROM pg_sequences ORDER BY 1")
        )

    def _write(self, connection: psycopg.Connection[Any], prepared: str) -> None:
        connection.execute(_WRITE_LOCK)
        if used := self._filled(connection):
            connection.execute("; ".join(f"DELETE FROM {table}" for table in used))
        for table, parts in self._rows[prepared].items():
            with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                for part in parts:
                    copy.write(part)
        connection.execute(self._sequences[prepared])

    def _filled(self, connection: psycopg.Connection[Any]) -> list[str]:
        """The tables that have rows."""
        return [name for (name,) in connection.execute(_FILLED)]


def new_url_file(folder: Path) -> Path:
    """A file with the URL of an empty database, on a server of its own: services need many connections."""
    server = new_server(max_connections="100")
    server.create(NAME)
    file = folder / "database.url"
    file.touch(mode=0o600)
    file.write_text(server.url(NAME))
    return file


@functools.cache
def _opened() -> _PooledDatabase:
    return _PooledDatabase(postgres_server().url(NAME))


@functools.cache
def _content() -> _Content:
    return _Content()
