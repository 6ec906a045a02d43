"""An empty database of the current schema."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from podium.db.schema.engine import Database
from podium.db.schema.migrate import migrate


@functools.cache
def migrated() -> bytes:
    """The content of an empty database: migrated once per test run, which takes 60 ms, and copied for each test."""
    with tempfile.TemporaryDirectory() as folder:
        migrate(Path(folder) / "empty.sqlite3")
        return (Path(folder) / "empty.sqlite3").read_bytes()


@functools.cache
def _opened(path: Path) -> Database:
    return Database(path)


def open_database(path: Path, content: bytes) -> Database:
    """The database at `path` with this content, closed by the last test that used it.

    An object is used again for its path: its engines have compiled their statements, half the time of a short test.
    """
    found = _opened(path)
    found.close()
    path.write_bytes(content)
    return found
