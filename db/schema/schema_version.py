"""The schema of a database file and of this version of Podium; every component, when it starts.

Does not import Alembic, which takes longer than the rest of a start. The name of a migration begins with its revision.
"""

from __future__ import annotations

import functools
import importlib.resources
from pathlib import Path

from podium.db.schema.engine import Database
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DatabaseError

BEFORE_UPGRADE = "before-upgrade-from-"  # the names of backups made before an upgrade begin with this, and the schema


@functools.cache
def known_schemas() -> tuple[str, ...]:
    """The schemas that this version can read or upgrade, oldest first."""
    folder = importlib.resources.files("podium.db.schema") / "migrations" / "versions"
    return tuple(sorted(each.name.partition("_")[0] for each in folder.iterdir() if each.name[:4].isdecimal()))


def require_current(database: Database) -> None:
    """Raises `DatabaseError` unless the database has the schema of this version.

    `podium serve` has upgraded it, so another one means that Podium was replaced or the file exchanged while it ran.
    """
    with database.read() as connection:
        (schema,) = connection.exec_driver_sql("SELECT version_num FROM alembic_version").one()
    newest = known_schemas()[-1]
    if schema == newest:
        return
    if schema not in known_schemas():
        raise newer_database_error(database.path, schema)
    raise DatabaseError(
        f"{database.path} has schema {schema}, and this version of Podium needs {newest}; stop the service, and start "
        "it again, which upgrades the database"
    )


def newer_database_error(path: Path, schema: str) -> DatabaseError:
    """The error for a database that a newer version of Podium has upgraded."""
    known = known_schemas()
    copies = [
        copy
        for copy in sorted(DataDirectory(path.parent).backups.glob(f"{BEFORE_UPGRADE}*.sqlite3"))
        if copy.name.removeprefix(BEFORE_UPGRADE).partition("-")[0] in known
    ]
    restore = f" or restore the copy made before its upgrade: {restore_command(path, copies[-1])};" if copies else ""
    return DatabaseError(
        f"{path} was written by a newer Podium (schema {schema}; this version knows {known[-1]} and older); install "
        f"the version of Podium that wrote it,{restore} or choose another data directory"
    )


def restore_command(path: Path, copy: Path | str) -> str:
    """The shell command that replaces the database by a copy."""
    return f"rm -f '{path}'-* && cp '{copy}' '{path}'"
