"""Whether the service still has its own database, checked when a component exits; the `podium serve` process.

SQLite's file is compared with that of the start, because SQLite would continue to write to a deleted one. PostgreSQL is
left to the components: each of their connections checks whose database it is.
"""

from __future__ import annotations

from pathlib import Path

from podium.sweep.runtime.component_startup_and_heartbeats import WRONG_DATABASE
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import DatabaseError


class DatabaseWatch:
    """The identity of the database at the start, of the file unless it is PostgreSQL's."""

    def __init__(self, settings: ServiceSettings) -> None:
        """A watch of the database that is there now."""
        self._file = None if settings.database_url_file else settings.data.database
        self._identity = _identity(self._file)

    def check(self, status: int, last_line: str) -> None:
        """Raises `DatabaseError` if the service must stop.

        Args:
            status: The exit status of a component.
            last_line: The last line that it wrote.
        """
        if _identity(self._file) != self._identity:
            raise DatabaseError(
                f"{self._file} was removed or replaced while the service was running; put it "
                "back, or restore a backup while no service runs, and start the service again"
            )
        if status == WRONG_DATABASE:
            raise DatabaseError(last_line)


def _identity(file: Path | None) -> tuple[int, int] | None:
    try:
        found = None if file is None else file.stat()
    except OSError:
        return None
    return None if found is None else (found.st_dev, found.st_ino)
