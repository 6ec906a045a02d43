"""The lock of a data directory: one service, or one database upgrade, at a time; `podium serve` and CLI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DataDirectoryError

LOCK_S = 1.0  # `podium doctor` and other commands hold the lock briefly to check whether a service runs


@contextmanager
def service_locked(data: DataDirectory, advice: str) -> Iterator[None]:
    """Hold the lock of `data` in the block. Raises `DataDirectoryError` if a service is running."""
    with ExitStack() as held:
        _lock(data, advice, held)
        yield


@contextmanager
def all_services_locked(data: DataDirectory, advice: str) -> Iterator[None]:
    """The same for all services that share the data directory: for commands that need it for themselves."""
    with ExitStack() as held:
        for each in (data, *data.services()):
            _lock(each, advice, held)
        yield


def _lock(data: DataDirectory, advice: str, held: ExitStack) -> None:
    lock = FileLock(data.service_lock)
    try:
        lock.acquire(timeout=LOCK_S)
    except Timeout:
        raise DataDirectoryError(
            f"a service is already running on {data.root}{_where(data.service_file)}; {advice}"
        ) from None
    except OSError as error:
        raise DataDirectoryError(f"cannot write to the data directory {data.root}: {error.strerror}") from error
    held.callback(lock.release)


def _where(service_file: Path) -> str:
    try:
        about = json.loads(service_file.read_text())
        return f" (process {about['pid']}, {about['url']})"
    except (OSError, ValueError, KeyError):
        return ""
