"""A consistent snapshot of the database of a running service: a file, and a connection that reads the same rows.

The process of `podium backup`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from podium.db.schema.database import Database
from podium.db.schema.online_backup import backup
from podium.db.schema.sqlite_database import SqliteDatabase


@dataclass(frozen=True, slots=True)
class DatabaseSnapshot:
    """The rows at one moment, and the database that has them, with those of now."""

    kind: str
    file: Path
    connection: Connection
    live: Database
    end_reading: Callable[[], None] = lambda: None  # of the connection: a long transaction delays VACUUM of PostgreSQL


@contextmanager
def sqlite_snapshot(path: Path, folder: Path) -> Iterator[DatabaseSnapshot]:
    """A copy of the file in `folder`. Raises `DatabaseError`."""
    file = folder / "podium.sqlite3"
    backup(path, file)
    copied, live = SqliteDatabase(file), SqliteDatabase(path)
    try:
        with copied.read() as connection:
            yield DatabaseSnapshot("sqlite", file, connection, live)
    finally:
        copied.close()
        live.close()


@contextmanager
def postgres_snapshot(url: str, folder: Path) -> Iterator[DatabaseSnapshot]:
    """A file of `pg_dump` in `folder`, with the rows of one transaction. Raises `DatabaseError`."""
    from podium.db.copies import pg_dump_and_restore
    from podium.db.schema.postgres_database import PostgresDatabase

    file, live = folder / "podium.pgdump", PostgresDatabase(url)
    try:
        with ExitStack() as reading:
            connection = reading.enter_context(live.read())
            name = pg_dump_and_restore.exported_snapshot(connection)
            pg_dump_and_restore.dump(url, file, snapshot=name)
            yield DatabaseSnapshot("postgresql", file, connection, live, reading.close)
    finally:
        live.close()
