"""Translates SQLite errors to Podium's errors; every process that opens the database."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from podium.db.schema.file_lock_holders import holders
from podium.sweep.runtime.disk_space_check import disk_space
from podium.sweep.values.errors import DamagedError, DatabaseError, StorageFullError, TooSlowError

_PRIMARY = 0xFF  # the low byte of an extended code is the primary code
UNCERTAIN = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
# The file could not be opened or locked, which does not affect its content.
INACCESSIBLE = LOCKED | {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_PERM}
_TEXTS = {  # for SQLite modules without error codes
    "database or disk is full": sqlite3.SQLITE_FULL,
    "disk I/O error": sqlite3.SQLITE_IOERR,
    "database disk image is malformed": sqlite3.SQLITE_CORRUPT,
    "file is not a database": sqlite3.SQLITE_NOTADB,
    "database is locked": sqlite3.SQLITE_BUSY,
    "database table is locked": sqlite3.SQLITE_LOCKED,
    "unable to open database file": sqlite3.SQLITE_CANTOPEN,
    "attempt to write a readonly database": sqlite3.SQLITE_READONLY,
    "interrupted": sqlite3.SQLITE_INTERRUPT,
}
_CONSTRAINT = "constraint failed"
_DISK_FULL_BYTES = 1 << 20


def refusal(path: Path, doing: str, error: BaseException | None) -> DatabaseError:
    """Podium's error for an SQLite error; `doing`: the failed operation, like `write to`."""
    code = code_of(error)
    full = disk_space(path.parent)
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and full.free_bytes < _DISK_FULL_BYTES):
        reason = f"cannot {doing} {path}: the disk or quota is full; free some space, and the service continues"
        return StorageFullError(reason if full.is_sufficient else f"cannot {doing} {path}: {full}")
    if code in UNCERTAIN:
        return DamagedError(
            f"cannot {doing} {path}: {error}; the last operation may or may not have been written. "
            "Check the disk, and run `podium db check`"
        )
    if code == sqlite3.SQLITE_CONSTRAINT:  # the stored state differs from the expected one; a retry does not help
        return DamagedError(f"cannot {doing} {path}: {error}; nothing was written; the stored state has changed")
    if code == sqlite3.SQLITE_INTERRUPT:
        return TooSlowError("the query takes too long; use fewer or simpler filter terms, or another order")
    if code in LOCKED:
        by = " and ".join(holders(path)) or "another program"
        return DatabaseError(f"cannot {doing} {path}: it is locked by {by}; nothing was written, try again")
    return DatabaseError(f"cannot {doing} {path}: {error}")


def code_of(error: BaseException | None) -> int:
    """SQLite's primary code of an error, from its number or its text; 0 for other errors."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return code & _PRIMARY
    return sqlite3.SQLITE_CONSTRAINT if _CONSTRAINT in str(error) else _TEXTS.get(str(error), 0)
