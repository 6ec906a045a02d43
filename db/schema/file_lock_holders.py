"""The processes that lock a database's files, from /proc/locks; every process that waits for a lock."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")


def holders(database: Path, proc: Path = PROC) -> list[str]:
    """Other processes with a write lock on the database, its log or its shared memory: `sqlite3 (process 12)`."""
    files = {_identity(database.with_name(database.name + suffix)) for suffix in ("", "-wal", "-shm")}
    try:
        lines = (proc / "locks").read_text().splitlines()
    except OSError:
        return []
    found = {pid for pid, file in map(_parse, lines) if file in files and pid > 0 and pid != os.getpid()}
    return [f"{_name(proc / str(pid))} (process {pid})" for pid in sorted(found)]


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return os.major(found.st_dev), os.minor(found.st_dev), found.st_ino


def _parse(line: str) -> tuple[int, tuple[int, int, int] | tuple[()]]:
    """The process and the file of one line, `1: POSIX  ADVISORY  WRITE 123 fd:01:456 0 EOF`; 0 for a read lock."""
    fields = line.split()
    if len(fields) < 6 or fields[3] != "WRITE":
        return 0, ()
    major, minor, inode = fields[5].split(":")
    return int(fields[4]), (int(major, 16), int(minor, 16), int(inode))


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text(errors="replace").strip()
    except OSError:
        return "a program"
