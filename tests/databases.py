"""Databases of the current schema: SQLite files, or with `--postgres` databases of a PostgreSQL server."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from podium.db.schema.database import Database
from podium.db.schema.migrate import migrate
from podium.db.schema.sqlite_database import SqliteDatabase

Prepare = Callable[[Database], None]

# The parameters of a test that runs on both, the second only in `make test-postgres`.
EACH_DATABASE = (
    pytest.param("sqlite", marks=pytest.mark.sqlite),
    pytest.param("postgres", marks=pytest.mark.postgres),
)


@dataclass
class Choice:
    """Which kind of database `open_database` opens."""

    postgres: bool = False


CHOSEN = Choice()


def empty(_: Database) -> None:
    """Leaves a new database as it is."""


@functools.cache
def sqlite_content(prepare: Prepare = empty) -> bytes:
    """The content of a database with what `prepare` writes: made once per test run, in 60 ms, and copied per test."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.sqlite3"
        migrate(path)
        database = SqliteDatabase(path)
        prepare(database)
        database.close()
        return path.read_bytes()


def open_database(path: Path, prepare: Prepare = empty) -> Database:
    """A database with what `prepare` writes, closed by the last test that used it; `path`: of an SQLite database."""
    return open_postgres(prepare) if CHOSEN.postgres else open_sqlite(path, prepare)


def open_sqlite(path: Path, prepare: Prepare = empty) -> SqliteDatabase:
    """An SQLite database.

    An object is used again for its path: its engines have compiled their statements, half the time of a short test.
    """
    found = _opened(path)
    found.close()
    path.write_bytes(sqlite_content(prepare))
    return found


@functools.cache
def _opened(path: Path) -> SqliteDatabase:
    return SqliteDatabase(path)


def open_postgres(prepare: Prepare = empty) -> Database:
    """A PostgreSQL database; skips the test where PostgreSQL is not installed."""
    from tests.postgres_databases import open_postgres_database

    return open_postgres_database(prepare)
