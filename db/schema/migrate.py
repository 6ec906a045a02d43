"""Upgrades a database to the current schema, under a lock and after a backup; a process that `podium serve` starts.

`python -P -m podium.db.schema.migrate FILE` prints one line of JSON, or an error message and exits 3. A foreign,
damaged or newer file is refused and not changed.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import json
import logging
import stat
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from alembic import command
from alembic.config import Config
from filelock import FileLock

from podium.db.schema.error_exit import exit_with_message
from podium.db.schema.online_backup import backup
from podium.db.schema.schema_version import BEFORE_UPGRADE, known_schema, newest_schema, restore_command
from podium.db.schema.sqlite_database import SqliteDatabase, connect_read_only, sqlite_module
from podium.db.schema.sqlite_errors import INACCESSIBLE, code_of, refusal
from podium.sweep.runtime import fail_points
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DatabaseError

_SQLITE_HEADER = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class MigrationResult:
    """The schema before (None: no database) and after, and the backup made before."""

    path: str
    before: str | None
    now: str
    copy: str | None = None


def migrate(path: Path) -> MigrationResult:
    """Create or upgrade the database at `path`. Raises `DatabaseError` if that is not safe."""
    with FileLock(DataDirectory(path.parent).migration_lock):
        current = _check_file(path)
        head = newest_schema()
        if current == head:
            return MigrationResult(str(path), current, head)
        copy = None if current is None else _keep(path, current)
        create(path)
        return MigrationResult(str(path), current, head, copy)


def how_to_restore(path: Path) -> str:
    """The command that restores the newest backup."""
    copies = sorted(DataDirectory(path.parent).backups.glob("*.sqlite3"), key=lambda copy: copy.stat().st_mtime)
    name = str(copies[-1]) if copies else "BACKUP"
    return f"restore a backup: {restore_command(path, name)}"


def alembic_config() -> Config:
    """Alembic's configuration with the migrations of this package."""
    config = Config()
    config.set_main_option("script_location", str(importlib.resources.files("podium.db.schema") / "migrations"))
    return config


def create(path: Path) -> None:
    """Create the tables of the current schema, or upgrade those of an earlier one, without any check."""
    database = SqliteDatabase(path, create=True)
    config = alembic_config()
    try:
        with database.write() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        database.close()


def _keep(path: Path, revision: str) -> str:
    """Back up the database before an upgrade; returns the path. A number distinguishes backups of one day."""
    stem = f"{BEFORE_UPGRADE}{revision}-{time.strftime('%Y-%m-%d')}"
    folder = DataDirectory(path.parent).backups
    taken = len(list(folder.glob(f"{stem}*"))) if folder.is_dir() else 0
    target = folder / f"{stem}{f'-{taken + 1}' if taken else ''}.sqlite3"
    backup(path, target)
    return str(target)


# Checks before an upgrade; none of them writes.


def _check_file(path: Path) -> str | None:
    """The schema of the database at `path`; None when there is none yet. Raises `DatabaseError`."""
    if not _has_content(path):
        _refuse_used_directory(path)
        return None
    try:
        with contextlib.closing(connect_read_only(path)) as connection:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            ours = tables >= {"alembic_version", "sweeps"}
            schemas = connection.execute("SELECT version_num FROM alembic_version").fetchall() if ours else []
    except sqlite_module().Error as error:
        if code_of(error) in INACCESSIBLE:
            raise refusal(path, "check", error) from error
        verdict = str(error)
    if verdict != "ok":
        reason = verdict.splitlines()[-1]
        raise DatabaseError(f"{path} is damaged ({reason}) and was not changed; {how_to_restore(path)}")
    if tables and not schemas:
        raise _foreign_database_error(path, tables)
    return known_schema(str(path), schemas[0][0], path) if schemas else None


def _has_content(path: Path) -> bool:
    """Whether the file is a non-empty SQLite database. Raises `DatabaseError` if it is anything else or unreadable."""
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            raise DatabaseError(f"{path} is a symbolic link; use the folder it points to as the data directory")
        if not stat.S_ISREG(found.st_mode):
            raise DatabaseError(f"{path} is not a file; move it away, or choose another data directory")
        with path.open("rb") as file:
            header = file.read(len(_SQLITE_HEADER))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise DatabaseError(
            f"cannot read {path}: {error.strerror}; run as its owner, or choose another data directory"
        ) from error
    if header and header != _SQLITE_HEADER:
        raise DatabaseError(
            f"{path} is not a database; if it was one, {how_to_restore(path)}; or move it away, or choose another "
            "data directory"
        )
    return bool(header)


def _refuse_used_directory(path: Path) -> None:
    """Raises `DatabaseError` if results exist: a new database would reuse their sweep ids and folders."""
    if DataDirectory(path.parent).unfinished_restore.exists():
        raise DatabaseError(f"{path.parent} is not completely restored; run the same `podium restore` again")
    trials = DataDirectory(path.parent).trials
    if trials.is_dir() and any(trials.iterdir()):
        raise DatabaseError(
            f"{path} is {'empty' if path.exists() else 'missing'}, but {trials} holds results of its trials; "
            f"{how_to_restore(path)}; or move {trials} away to start with an empty database"
        )


def _foreign_database_error(path: Path, tables: set[str]) -> DatabaseError:
    return DatabaseError(
        f"{path} is a database, but not Podium's (it has {', '.join(sorted(tables)[:3])}); "
        "choose another data directory"
    )


def main() -> None:
    """Migrate the file named on the command line."""
    fail_points.name_component("migrate")
    logging.basicConfig(level=logging.WARNING)
    with exit_with_message():
        print(json.dumps(asdict(migrate(Path(sys.argv[1])))))


if __name__ == "__main__":
    main()
