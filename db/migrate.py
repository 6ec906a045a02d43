"""Bringing a database to today's schema at start: under a lock, after a copy; run by `serve` as a process of its own.

`python -P -m db.migrate FILE` exits 0, or prints one sentence and exits 3. A foreign, damaged or newer file is
refused and left as it is.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import logging
import sys
import time
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from filelock import FileLock
from sqlalchemy import inspect

from db.engine import Database, sqlite_module
from sweep.errors import DatabaseError

_SQLITE_HEADER = b"SQLite format 3\0"


def migrate(path: Path) -> None:
    """Create or upgrade the database at `path`. Raises `DatabaseError` when that cannot be done safely."""
    with FileLock(path.with_name("migration.lock")):
        if path.exists() and path.stat().st_size > 0:
            _check_file(path)
        database = Database(path, create=True)
        try:
            _upgrade(database)
        finally:
            database.close()


def _upgrade(database: Database) -> None:
    config = alembic_config()
    script = ScriptDirectory.from_config(config)
    with database.read() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
        tables = set(inspect(connection).get_table_names())
    if current is None and tables:
        raise DatabaseError(
            f"{database.path} is a database, but not Podium's (it has {', '.join(sorted(tables)[:3])}); "
            "choose another data directory"
        )
    if current is not None and current not in {revision.revision for revision in script.walk_revisions()}:
        raise DatabaseError(
            f"{database.path} was written by a newer Podium (schema {current}); "
            "upgrade Podium, or choose another data directory"
        )
    if current == script.get_current_head():
        return
    if current is not None:
        _copy(database.path, current)
    with database.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def alembic_config() -> Config:
    """Alembic's configuration, with the migrations that ship in this package."""
    config = Config()
    config.set_main_option("script_location", str(importlib.resources.files("db") / "migrations"))
    return config


def _check_file(path: Path) -> None:
    with path.open("rb") as file:
        if file.read(len(_SQLITE_HEADER)) != _SQLITE_HEADER:
            raise DatabaseError(f"{path} is not a database; move it away, or choose another data directory")
    module = sqlite_module()
    try:
        with contextlib.closing(module.connect(path)) as connection:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except module.DatabaseError as error:
        verdict = str(error)
    if verdict != "ok":
        reason = verdict.splitlines()[-1]
        raise DatabaseError(f"{path} is damaged ({reason}); restore it from a copy, it was left as it is")


def _copy(path: Path, revision: str) -> None:
    """Keep the old schema beside the new one, through SQLite's own backup: a plain copy can tear."""
    module = sqlite_module()
    target = path.with_name(f"{path.stem}.{revision}.{int(time.time())}.backup.sqlite3")
    with contextlib.closing(module.connect(path)) as old, contextlib.closing(module.connect(target)) as new:
        old.backup(new)


def main() -> None:
    """Migrate the file named on the command line."""
    logging.basicConfig(level=logging.WARNING)
    try:
        migrate(Path(sys.argv[1]))
    except DatabaseError as error:
        print(error, file=sys.stderr)
        sys.exit(3)


if __name__ == "__main__":
    main()
