"""Copies the database of a data directory to PostgreSQL or back; a separate process, which `podium db copy` starts.

`python -P -m podium.db.copies.database_copy FILE to-postgres|from-postgres [URL_FILE]` prints one line of JSON, or an
error message and exits 3. The service is stopped: nobody can write to the source until the copy has been verified. A
copy that was interrupted continues when it is started again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from sqlalchemy import Connection, inspect, select

from podium.db.copies import table_copy, unfinished_copy_marker
from podium.db.copies.dialect_value_conversion import TargetValues
from podium.db.copies.postgres_in_use_check import refuse_service
from podium.db.schema import database_binding
from podium.db.schema.database import Database
from podium.db.schema.dialect import is_postgres
from podium.db.schema.error_exit import exit_with_message
from podium.db.schema.migrate import create
from podium.db.schema.postgres_url_source import database_url
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.schema.tables import WRITTEN_BY_TRIGGERS, metadata, trial_counts
from podium.sweep.runtime import fail_points
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DatabaseError

Direction = Literal["to-postgres", "from-postgres"]
# The triggers of the target write the other tables.
COPIED = [table for table in metadata.sorted_tables if table not in WRITTEN_BY_TRIGGERS]


@dataclass(frozen=True, slots=True)
class CopyResult:
    """A complete, verified copy."""

    source: str
    target: str
    rows: int  # in the target
    copied: int  # by this call; the others were there already
    changed: dict[str, int]  # by table: rows that the target stores otherwise; see `dialect_value_conversion`


@dataclass(frozen=True, slots=True)
class Place:
    """A database, with its name in messages."""

    database: Database
    name: str


def copy_database(
    path: Path, direction: Direction, url: str, say: Callable[[str], None] = lambda _: None
) -> CopyResult:
    """Copy the database at `path` to that at `url`, or back. Raises `DatabaseError`.

    A data directory that belonged to the PostgreSQL database has its own again after a copy back.
    """
    if direction == "to-postgres":
        with _sqlite(path, create_it=False) as source, _postgres(url, create_it=True) as target:
            return copy(source, target, say)
    data = DataDirectory(path.parent)
    binding = database_binding.recorded(data)
    service = None if binding is None else binding.service
    with _postgres(url, create_it=False, service=service) as source, _sqlite(path, create_it=True) as target:
        done = copy(source, target, say)
    database_binding.forget(data)
    return done


def copy(
    source: Place, target: Place, say: Callable[[str], None] = lambda _: None, *, batch: int = table_copy.BATCH
) -> CopyResult:
    """Copy all rows, `batch` of them in one transaction; `say` reports progress. Raises `DatabaseError`."""
    with source.database.write() as connection:  # nobody else can write to it
        marker = unfinished_copy_marker.marker_of(connection, source.name)
        if unfinished_copy_marker.mark(target.database, marker, target.name):
            say("continuing an interrupted copy")
        with target.database.read() as reading:
            values = TargetValues(postgres=is_postgres(reading))
        copied = 0
        for table in COPIED:
            done = table_copy.copy_table(connection, target.database, table, values, batch=batch)
            copied += done
            say(f"{table.name}: {done:,} rows copied")
        rows, changed = _verify(connection, target, values, say)
        _finish(connection, target.database)
    return CopyResult(source.name, target.name, rows, copied, changed)


def _verify(
    source: Connection, target: Place, values: TargetValues, say: Callable[[str], None]
) -> tuple[int, dict[str, int]]:
    """The number of rows, and of those that the target stores otherwise. Raises `DatabaseError` for a difference."""
    changed, total = {}, 0
    with target.database.read() as reading:
        for table in COPIED:
            wanted = table_copy.source_digest(source, table, values)
            found = table_copy.target_digest(reading, table)
            if (wanted.rows, wanted.digest) != (found.rows, found.digest):
                raise DatabaseError(
                    f"{target.name}: the {found.rows:,} rows of {table.name} are not those of the source, which has "
                    f"{wanted.rows:,}; the copy cannot be used: empty or remove it, and start again"
                )
            if wanted.changed:
                changed[table.name] = wanted.changed
            total += found.rows
            say(f"{table.name}: {found.rows:,} rows verified")
        if _trial_counts(source) != _trial_counts(reading):
            raise DatabaseError(
                f"{target.name}: the numbers of trials by state are not those of the source; the copy cannot be used: "
                "empty or remove it, and start again"
            )
    return total, changed


def _trial_counts(connection: Connection) -> set[tuple[int, str, int]]:
    stored = connection.execute(select(trial_counts).where(trial_counts.c.count != 0))
    return {(sweep_id, state, count) for sweep_id, state, count in stored}


def _finish(source: Connection, target: Database) -> None:
    with target.write() as connection:
        for table in COPIED:
            if table.autoincrement_column is not None:
                table_copy.set_last_id(connection, table, table_copy.last_id(source, table))
        unfinished_copy_marker.finish(connection)


@contextmanager
def _sqlite(path: Path, *, create_it: bool) -> Iterator[Place]:
    if create_it and not path.exists():
        create(path)
    elif not path.is_file():
        raise DatabaseError(f"there is no database at {path}; give its folder with --data-dir")
    database = SqliteDatabase(path)
    try:
        yield Place(database, str(path))
    finally:
        database.close()


@contextmanager
def _postgres(url: str, *, create_it: bool, service: str | None = None) -> Iterator[Place]:
    from podium.db.schema.postgres_database import PostgresDatabase
    from podium.db.schema.postgres_schema_upgrade import migrate_postgres

    database = PostgresDatabase(url, service=service)
    try:
        refuse_service(database, database.name)
        if create_it and _is_empty(database):
            migrate_postgres(url)
        yield Place(database, database.name)
    finally:
        database.close()


def _is_empty(database: Database) -> bool:
    with database.read() as connection:
        return not inspect(connection).get_table_names()


def main() -> None:
    """Copy as the command line says."""
    fail_points.name_component("copy")
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("direction", choices=get_args(Direction))
    parser.add_argument("url_file", type=Path, nargs="?")
    arguments = parser.parse_args()
    with exit_with_message():
        url = database_url(arguments.url_file)
        done = copy_database(arguments.file, arguments.direction, url, _say)
        print(json.dumps(asdict(done)))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
