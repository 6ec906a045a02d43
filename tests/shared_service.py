"""One service for many modules of tests: a start costs 7 to 12 seconds of processor time."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.databases import CHOSEN
from tests.running_service import AuditedService


class SharedService:
    """A service with two slots, started when a module needs it; with `--postgres`, its database is PostgreSQL's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: AuditedService | None = None

    def open(self) -> AuditedService:
        """The service, running."""
        if self._running is None:
            folder = Path(tempfile.mkdtemp(dir=self._folder))
            options = ["--database-url-file", str(_url_file(folder))] if CHOSEN.postgres else []
            self._running = AuditedService(folder / "data", detached=True, options=options)
        return self._running

    def close(self) -> None:
        """Stop the service if it runs, and audit its data directory: an idle one takes a twentieth of a core."""
        running, self._running = self._running, None
        if running is not None:
            running.__exit__(None, None, None)


def _url_file(folder: Path) -> Path:
    from tests.postgres_databases import new_url_file

    return new_url_file(folder)
