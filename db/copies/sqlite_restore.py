"""Replaces the database of a data directory by a backup of it, while no service runs; a separate process.

`python -P -m podium.db.copies.sqlite_restore BACKUP FILE` prints one line of JSON, or an error message and exits 3.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path

from podium.db.schema.error_exit import exit_with_message
from podium.db.schema.integrity_check import check
from podium.db.schema.online_backup import backup
from podium.db.schema.schema_version import known_schema
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DatabaseError

_LOGS = ("-wal", "-shm", "-journal")


def restore(source: Path, path: Path) -> tuple[str, str | None]:
    """Put a copy of the backup `source` in the place of the database at `path`.

    Returns its schema, and where the replaced database is kept. Raises `DatabaseError` if the backup is damaged.
    """
    found = check(source)
    if found.problems or found.schema is None:
        raise DatabaseError(f"{source} cannot be restored: {found.problems[0]}")
    known_schema(str(source), found.schema, source)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        backup(source, temporary, force=True)
        kept = _keep(path)
        for suffix in _LOGS:  # first: SQLite would write the changes in them into the restored file
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        temporary.replace(path)
    except OSError as error:
        raise DatabaseError(f"cannot restore {path}: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return found.schema, kept


def _keep(path: Path) -> str | None:
    """Copy the database that is replaced, as far as it can be read; returns where it is."""
    if not path.exists():
        return None
    target = DataDirectory(path.parent).backups / f"before-restore-{time.strftime('%Y-%m-%d-%H%M%S')}.sqlite3"
    target.parent.mkdir(exist_ok=True, mode=0o700)
    try:
        backup(path, target, force=True)
    except DatabaseError:  # it is damaged, which may be the reason to restore
        for suffix in ("", *_LOGS):
            if (file := path.with_name(path.name + suffix)).exists():
                shutil.copyfile(file, target.with_name(target.name + suffix))
    return str(target)


def main() -> None:
    """Restore the file named on the command line."""
    with exit_with_message():
        source, path = Path(sys.argv[1]), Path(sys.argv[2])
        schema, kept = restore(source, path)
        print(json.dumps({"path": str(path), "schema": schema, "kept": kept}))


if __name__ == "__main__":
    main()
