"""Checks the free disk space of the data directory before new work starts; every process.

Work in progress continues below the reserve, so that its results can still be written.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from podium.sweep.values.errors import StorageFullError

RESERVE_BYTES = 64 << 20
RESERVE_SHARE = 20  # one twentieth of a file system that is smaller than 1.25 GB
RESERVE_FILES = 1000  # inodes; one twentieth of a file system that has fewer than 20,000


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """The free space of a file system, available to this user."""

    path: str
    free_bytes: int
    needed_bytes: int
    free_files: int | None = None  # inodes; None where the file system does not count them
    needed_files: int = 0

    @property
    def is_sufficient(self) -> bool:
        """Whether new work may start."""
        return self.free_bytes >= self.needed_bytes and not self._lacks_files

    @property
    def _lacks_files(self) -> bool:
        return self.free_files is not None and self.free_files < self.needed_files

    def __str__(self) -> str:
        if self._lacks_files:
            return (
                f"no space left in {self.path}: {self.free_files:,} inodes are free, but {self.needed_files:,} are "
                "required to start new work; remove files to resume automatically"
            )
        return (
            f"no space left in {self.path}: {self.free_bytes / 1e6:,.0f} MB are free, but "
            f"{self.needed_bytes / 1e6:,.0f} MB are required to start new work; free disk space to resume automatically"
        )


def disk_space(path: Path) -> DiskSpace:
    """The free space of the file system of `path`; 0 if statvfs fails."""
    try:
        found = os.statvfs(path)
    except OSError:
        return DiskSpace(str(path), 0, RESERVE_BYTES)
    size, free = found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
    needed = min(RESERVE_BYTES, size // RESERVE_SHARE)
    if not found.f_files:
        return DiskSpace(str(path), free, needed)
    return DiskSpace(str(path), free, needed, found.f_favail, min(RESERVE_FILES, found.f_files // RESERVE_SHARE))


def check_disk_space(path: Path) -> None:
    """Raises `StorageFullError` if there is not enough space to start new work."""
    found = disk_space(path)
    if not found.is_sufficient:
        raise StorageFullError(str(found))
