"""The schema of a database file and of this version of Podium; every component, when it starts.

Does not import Alembic, which takes longer than the rest of a start. The name of a migration begins with its revision.
"""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Sequence
from pathlib import Path

from podium.db.schema.database import Database
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.schema.unfinished_copy import refuse_unfinished
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DatabaseError

BEFORE_UPGRADE = "before-upgrade-from-"  # the names of backups made before an upgrade begin with this, and the schema


@functools.cache
def known_schemas() -> tuple[str, ...]:
    """The schemas that this version can read or upgrade, oldest first."""
    folder = importlib.resources.files("podium.db.schema") / "migrations" / "versions"
    return tuple(sorted(each.name.partition("_")[0] for each in folder.iterdir() if each.name[:4].isdecimal()))


def newest_schema() -> str:
    """The schema of this version of Podium."""
    return known_schemas()[-1]


def require_current(database: Database) -> None:
    """Raises `DatabaseError` unless the database has the schema of this version.

    `podium serve` has upgraded it, so another one means that Podium was replaced or the file exchanged while it ran.
    """
    with database.read() as connection:
        (schema,) = connection.exec_driver_sql("SELECT version_num FROM alembic_version").one()
    newest = newest_schema()
    if schema == newest:
        return
    known_schema(database.name, schema, database.path if isinstance(database, SqliteDatabase) else None)
    raise DatabaseError(
        f"{database.name} has schema {schema}, and this version of Podium needs {newest}; stop the service, and start "
        "it again, which upgrades the database"
    )


def known_schema(name: str, schema: str, path: Path | None = None) -> str:
    """The schema of a database, if this version can read or upgrade it. Raises `DatabaseError`.

    `path`: of SQLite's file, whose copy from before its upgrade can be restored.
    """
    refuse_unfinished(name, schema)
    known = known_schemas()
    if schema in known:
        return schema
    restore = "" if path is None else _how_to_restore(path, known)
    other = "data directory" if path is not None else "database"
    raise DatabaseError(
        f"{name} was written by a newer Podium (schema {schema}; this version knows {known[-1]} and older); install "
        f"the version of Podium that wrote it,{restore} or choose another {other}"
    )


def _how_to_restore(path: Path, known: Sequence[str]) -> str:
    copies = [
        copy
        for copy in sorted(DataDirectory(path.parent).backups.glob(f"{BEFORE_UPGRADE}*.sqlite3"))
        if copy.name.removeprefix(BEFORE_UPGRADE).partition("-")[0] in known
    ]
    return f" or restore the copy made before its upgrade: {restore_command(path, copies[-1])};" if copies else ""


def restore_command(path: Path, copy: Path | str) -> str:
    """The shell command that replaces the database by a copy."""
    return f"rm -f '{path}'-* && cp '{copy}' '{path}'"
