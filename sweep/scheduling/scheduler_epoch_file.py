"""The epoch of the last scheduler that opened slots, outside the database; scheduler process.

Slots on other machines outlive a service, and refuse a scheduler with a lower epoch than that of an earlier one. The
epoch of the database is lower after a backup was restored.
"""

from __future__ import annotations

from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import ServiceError


def read(data: DataDirectory) -> int:
    """The recorded epoch; 0 if there is none."""
    try:
        return int(data.scheduler_epoch.read_text())
    except (OSError, ValueError):
        return 0


def record(data: DataDirectory, epoch: int) -> None:
    """Record the epoch of a scheduler, before it opens a slot. Raises `ServiceError` if it cannot be written."""
    try:
        write_atomic(data.scheduler_epoch, str(epoch).encode())
    except OSError as error:
        raise ServiceError(f"cannot write {data.scheduler_epoch}: {error.strerror or error}") from error
