"""Is the file on disk still the one that was opened? SQLite would write on into a file that has no name any more."""

from __future__ import annotations

from pathlib import Path

from podium.sweep.values.errors import DamagedError


class FileWatch:
    """The database and its write-ahead log, as this process first saw them."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._log = database.with_name(database.name + "-wal")
        self._seen: dict[Path, tuple[int, int]] = {}

    def check(self) -> None:
        """Within a write transaction, when both are open. Raises `DamagedError` when one is not what it was."""
        for path in (self._database, self._log):
            now = _identity(path)
            before = self._seen.get(path)
            if before is None and now is not None:
                self._seen[path] = now
            elif now != before:
                what = "removed" if now is None else "replaced"
                raise DamagedError(
                    f"cannot write to {self._database}: {path.name} was {what} while it was open, so nothing more is "
                    "written; stop the service, put the files back or restore a backup, and start it again"
                )

    def reopened(self) -> None:
        """All connections were closed: a new log is no surprise. The database must stay the same file."""
        self._seen.pop(self._log, None)


def _identity(path: Path) -> tuple[int, int] | None:
    # Never by opening it: closing any descriptor of a file gives up SQLite's locks on it.
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
