"""What SQLite says when it cannot, as an error of ours with a sentence; in every process that opens the database."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from podium.db.schema.lock_holders import holders
from podium.sweep.runtime.disk_space import room
from podium.sweep.values.errors import DamagedError, DatabaseError, StorageFullError, TooSlowError

_PRIMARY = 0xFF  # SQLite's extended codes have their kind in the low byte
SPOILED = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
# Another may open it, or we when the disk has room and its folder is ours: no word about what is in the file.
BARRED = LOCKED | {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_PERM}
_TEXTS = {  # for a module without codes
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
_NO_ROOM_BYTES = 1 << 20


def refusal(path: Path, doing: str, error: BaseException | None) -> DatabaseError:
    """The error of ours that says what SQLite meant; `doing`: what could not be done, as `write to`."""
    code = code_of(error)
    full = room(path.parent)
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and full.free_bytes < _NO_ROOM_BYTES):
        reason = f"cannot {doing} {path}: its disk, or our quota of it, is full; make room, and all goes on by itself"
        return StorageFullError(reason if full.enough else f"cannot {doing} {path}: {full}")
    if code in SPOILED:
        return DamagedError(
            f"cannot {doing} {path}: {error}; what was being done may or may not be there, read it back. "
            "Look at the disk and at `podium db check`"
        )
    if code == sqlite3.SQLITE_CONSTRAINT:  # what we believe is there is not what is there; waiting cures nothing
        return DamagedError(f"cannot {doing} {path}: {error}; nothing was written, read back what is there")
    if code == sqlite3.SQLITE_INTERRUPT:
        return TooSlowError("this takes too long here; ask with fewer or simpler terms, or by another order")
    if code in LOCKED:
        by = " and ".join(holders(path)) or "another program"
        return DatabaseError(f"cannot {doing} {path}: it is locked by {by}; nothing was written, try again")
    return DatabaseError(f"cannot {doing} {path}: {error}")


def code_of(error: BaseException | None) -> int:
    """SQLite's primary code for an error: by number where the module tells it, else by its text; 0 for others."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return code & _PRIMARY
    return sqlite3.SQLITE_CONSTRAINT if _CONSTRAINT in str(error) else _TEXTS.get(str(error), 0)
