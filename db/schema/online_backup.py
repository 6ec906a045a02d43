"""Copies the database consistently while the service runs; a separate process.

`python -P -m podium.db.schema.online_backup FILE TARGET [--force]` prints one line of JSON, or an error message and
exits 3.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from pathlib import Path
from typing import Any

from podium.db.schema.error_exit import exit_with_message
from podium.db.schema.sqlite_database import connect, connect_read_only, sqlite_module
from podium.db.schema.sqlite_errors import refusal
from podium.db.schema.unfinished_copy import refuse_unfinished
from podium.sweep.runtime.disk_space_check import disk_space
from podium.sweep.values.errors import DatabaseError, StorageFullError

_SCHEMA = "alembic_version"  # the table with the schema


def backup(source: Path, target: Path, *, force: bool = False) -> int:
    """Copy the database at `source` to `target`; returns the size of the copy in bytes.

    The copy is made in one read transaction: it is a snapshot and blocks no writer. It is checked and synced before it
    is renamed to `target`. Raises `DatabaseError`.
    """
    if not source.is_file():
        raise DatabaseError(f"there is no database at {source}; give its folder with --data-dir")
    if target.exists() and target.samefile(source):
        raise DatabaseError(f"{target} is the database itself; give another file")
    if target.exists() and not force:
        raise DatabaseError(f"{target} exists; give another file, or overwrite it with --force")
    if target.is_dir():
        raise DatabaseError(f"{target} is a folder; give a file in it")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _check_space(source, target.parent)
        temporary.touch(mode=0o600)
        _copy(source, temporary)
        _sync(temporary)
        temporary.replace(target)
        _sync(target.parent)
    except OSError as error:
        raise DatabaseError(f"cannot write {target}: {error.strerror}; give another file") from error
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            temporary.with_name(temporary.name + suffix).unlink(missing_ok=True)
    return target.stat().st_size


def _check_space(source: Path, folder: Path) -> None:
    log = source.with_name(source.name + "-wal")
    size = source.stat().st_size + (log.stat().st_size if log.exists() else 0)
    found = disk_space(folder)
    if found.free_bytes - size < found.needed_bytes:
        raise StorageFullError(
            f"no disk space for a copy of {size / 1e6:,.1f} MB in {folder}: {found.free_bytes / 1e6:,.1f} MB free, "
            f"of which {found.needed_bytes / 1e6:,.1f} MB are reserved; give a file on another disk"
        )


def _copy(source: Path, target: Path) -> None:
    module = sqlite_module()
    try:
        with contextlib.closing(connect_read_only(source)) as old, contextlib.closing(connect(target, "rw")) as new:
            old.backup(new, pages=-1)
            new.execute("PRAGMA journal_mode = DELETE")  # one file, without a log that must be moved with it
            (verdict,) = new.execute("PRAGMA quick_check(1)").fetchone()
            schema = _schema(new)
    except module.Error as error:
        raise refusal(source, "copy", error) from error
    refuse_unfinished(str(source), schema)
    if verdict != "ok":
        raise DatabaseError(
            f"{source} is damaged ({verdict.splitlines()[-1]}), so no copy was made; run `podium db check`"
        )


def _schema(connection: Any) -> str | None:
    """The schema of a database, None if it is not Podium's."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    found = connection.execute("SELECT version_num FROM alembic_version").fetchone() if _SCHEMA in tables else None
    return None if found is None else found[0]


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def main() -> None:
    """Copy the database named on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--force", action="store_true")
    arguments = parser.parse_args()
    with exit_with_message():
        size = backup(arguments.source, arguments.target, force=arguments.force)
        print(json.dumps({"path": str(arguments.target), "bytes": size}))


if __name__ == "__main__":
    main()
