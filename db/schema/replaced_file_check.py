"""Detects that the database file was removed or replaced while open; every process that writes.

SQLite would continue to write to the deleted file.
"""

from __future__ import annotations

from pathlib import Path

from podium.sweep.values.errors import DamagedError


class FileWatch:
    """The identity of the database and its write-ahead log when this process opened them."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._log = database.with_name(database.name + "-wal")
        self._seen: dict[Path, tuple[int, int]] = {}

    def check(self) -> None:
        """To be called in a write transaction, when both files are open. Raises `DamagedError` if one was replaced."""
        for path in (self._database, self._log):
            now = _identity(path)
            before = self._seen.get(path)
            if before is None and now is not None:
                self._seen[path] = now
            elif now != before:
                what = "removed" if now is None else "replaced"
                raise DamagedError(
                    f"cannot write to {self._database}: {path.name} was {what} while open, so nothing "
                    "more is written; stop the service, put the files back or restore a backup, and start it again"
                )

    def reopened(self) -> None:
        """All connections were closed, so the log may be a new file; the database must be the same."""
        self._seen.pop(self._log, None)


def _identity(path: Path) -> tuple[int, int] | None:
    # stat only: closing any descriptor of a file releases SQLite's locks on it.
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
