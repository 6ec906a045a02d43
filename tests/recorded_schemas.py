"""Databases of each schema that Podium has had, with data; `tests/record_schema.py` records them."""

from __future__ import annotations

import contextlib
import gzip
import tarfile
from pathlib import Path

from podium.db.schema.engine import sqlite_module
from podium.sweep.runtime.layout import DataDirectory
from tests.repository import ROOT

FOLDER = ROOT / "tests" / "fixtures" / "schemas"


def recorded() -> list[str]:
    """The schemas of which a database is stored, oldest first."""
    return sorted(path.name.removesuffix(".sql.gz") for path in FOLDER.glob("*.sql.gz"))


def file_of(schema: str) -> Path:
    """The file with the SQL text of a database."""
    return FOLDER / f"{schema}.sql.gz"


def archive_of(schema: str) -> Path:
    """The archive with the files of a data directory; not stored of every schema."""
    return FOLDER / f"{schema}.tar.gz"


def restore(schema: str, path: Path) -> Path:
    """Write the database of a schema to `path`, which does not exist yet; returns it."""
    with contextlib.closing(sqlite_module().connect(path)) as connection:
        connection.executescript(gzip.decompress(file_of(schema).read_bytes()).decode())
    return path


def restore_directory(schema: str, root: Path, *, files_of: str = "") -> DataDirectory:
    """A data directory as a service of this schema left it when its machine failed, while a sweep was running.

    `files_of`: the schema of the recording whose files it gets, if it has none of its own.
    """
    data = DataDirectory(root)
    data.prepare()
    with tarfile.open(archive_of(files_of or schema)) as archive:
        archive.extractall(root, filter="data")
    restore(schema, data.database)
    return data
