"""One service a data directory, and nobody else who changes its database meanwhile; serve, cli."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DataDirectoryError

LOCK_S = 1.0  # the doctor holds the service's lock for a moment, to see whether one runs


@contextmanager
def service_locked(data: DataDirectory, advice: str) -> Iterator[None]:
    """While within, no service can start on `data`. Raises `DataDirectoryError` when one runs already."""
    lock = FileLock(data.service_lock)
    try:
        lock.acquire(timeout=LOCK_S)
    except Timeout:
        raise DataDirectoryError(
            f"a service runs on {data.root} already{_where(data.service_file)}; {advice}"
        ) from None
    except OSError as error:
        raise DataDirectoryError(f"cannot write to the data directory {data.root}: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()


def _where(service_file: Path) -> str:
    try:
        about = json.loads(service_file.read_text())
        return f" (process {about['pid']}, {about['url']})"
    except (OSError, ValueError, KeyError):
        return ""
