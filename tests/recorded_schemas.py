"""Databases of each schema that Podium has had, with data; `tests/record_schema.py` records them.

Of a PostgreSQL database, only the tables are recorded. Its rows are those of the SQLite database of the same schema.
"""

from __future__ import annotations

import contextlib
import gzip
import tarfile
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from podium.db.schema.sqlite_database import sqlite_module
from podium.db.schema.tables import metadata
from podium.sweep.runtime.layout import DataDirectory
from tests.repository import ROOT

FOLDER = ROOT / "tests" / "fixtures" / "schemas"


def recorded() -> list[str]:
    """The schemas of which a database is stored, oldest first."""
    return sorted(path.name.removesuffix(".sql.gz") for path in FOLDER.glob("????.sql.gz"))


def stopped(schema: str) -> str:
    """The name of the recording of a service that was stopped, and not killed."""
    return f"{schema}-stopped"


def file_of(schema: str) -> Path:
    """The file with the SQL text of a database."""
    return FOLDER / f"{schema}.sql.gz"


def archive_of(schema: str) -> Path:
    """The archive with the files of a data directory; not stored of every schema."""
    return FOLDER / f"{schema}.tar.gz"


def postgres_file_of(schema: str) -> Path:
    """The file with the SQL text of the tables of a PostgreSQL database."""
    return FOLDER / f"{schema}.postgres.gz"


def postgres_recorded() -> list[str]:
    """The schemas of which the tables of a PostgreSQL database are stored, oldest first."""
    return sorted(path.name.removesuffix(".postgres.gz") for path in FOLDER.glob("*.postgres.gz"))


def restore_postgres(schema: str, url: str, path: Path) -> Path:
    """Make an empty PostgreSQL database one of a schema, with the rows of the SQLite database of this schema.

    That one is written to `path`, which does not exist yet; returns it.
    """
    restore(schema, path)
    with contextlib.closing(sqlite_module().connect(path)) as source, psycopg.connect(url) as target:
        target.execute(gzip.decompress(postgres_file_of(schema).read_bytes()))
        target.execute("SET search_path = public")
        for table, columns in {**_tables_of(target), "alembic_version": {"version_num": "text"}}.items():
            _copy_rows(source, target, table, columns)
    return path


def _tables_of(connection: psycopg.Connection[Any]) -> dict[str, dict[str, str]]:
    """The types of the columns of each table, a table after those that it refers to."""
    columns = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s"
    found = {table.name: dict(connection.execute(columns, (table.name,))) for table in metadata.sorted_tables}
    return {name: types for name, types in found.items() if types}


def _copy_rows(source: Any, target: psycopg.Connection[Any], table: str, columns: dict[str, str]) -> None:
    """Copy the rows of a table; SQLite stores booleans as integers."""
    rows = source.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
    of = list(columns.values())
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    marks = sql.SQL(", ").join([sql.Placeholder()] * len(columns))
    statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(sql.Identifier(table), names, marks)
    values = [
        [bool(value) if kind == "boolean" and value is not None else value for value, kind in zip(row, of, strict=True)]
        for row in rows
    ]
    target.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
    target.cursor().executemany(statement, values)


def restore(schema: str, path: Path) -> Path:
    """Write the database of a schema to `path`, which does not exist yet; returns it."""
    with contextlib.closing(sqlite_module().connect(path)) as connection:
        connection.executescript(gzip.decompress(file_of(schema).read_bytes()).decode())
    return path


def restore_directory(schema: str, root: Path, *, files_of: str = "") -> DataDirectory:
    """A data directory as a service of this schema left it when its machine failed, while a sweep was running.

    That of the recording `stopped(schema)` is of a service that was stopped.

    Args:
        schema: The recording.
        root: Of the data directory.
        files_of: The recording whose files it gets, if it has none of its own.
    """
    data = DataDirectory(root)
    data.prepare()
    with tarfile.open(archive_of(files_of or schema)) as archive:
        archive.extractall(root, filter="data")
    restore(schema, data.database)
    return data
