"""Classifies a full disk that ended a trial (ENOSPC, EDQUOT) by failure cause; trial process, slot.

A full disk of the data directory affects all trials: the attempt is interrupted and retried, and no trial starts until
there is space. Any other full file system (/dev/shm, a quota), or a data disk filled by the trial's own files, affects
only the trial.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.attempt_resource_usage import folder_bytes
from podium.sweep.runtime.disk_space_check import DiskSpace, disk_space
from podium.sweep.runtime.filesystem_type import writable_local
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.attempt_outcomes import over_quota
from podium.sweep.values.failure_causes import Cause

ON_DATA_DISK = "no space left on the disk of the data directory"
_NEARLY_FULL_BYTES = 1 << 20
_MB = 1 << 20


def classify_full_disk(
    error: BaseException,
    message: str,
    assignment: Assignment,
    *,
    room_of: Callable[[Path], DiskSpace] = disk_space,
    local_mounts: Callable[[], list[str]] = writable_local,
) -> tuple[Cause, str, bool]:
    """The cause and message of an attempt that ran out of disk space, and whether it was interrupted without fault.

    Must be called directly after the exception, before the attempt's folders are removed.
    """
    directory = AttemptDirectory(Path(assignment.directory), assignment.rank)
    allowed_mb = assignment.limits.work_dir_mb
    used = folder_bytes((directory.work, directory.temporary))
    if allowed_mb is not None and used > allowed_mb * _MB:
        return Cause.DISK_QUOTA, over_quota(used, allowed_mb), False
    found = room_of(directory.root)
    if not found.is_sufficient and not _filled_by(used, found):
        return Cause.DISK_FULL, f"{ON_DATA_DISK}: {message}", True
    if not found.is_sufficient:
        where = f"on the disk of the data directory, where this trial's own files use {used / _MB:.0f} MB"
    else:
        where = f"on {_folder_list(list(_full_file_systems(error, local_mounts())))}"
    return Cause.DISK_FULL, f"no space left {where}: {message}", False


def _filled_by(used_bytes: int, found: DiskSpace) -> bool:
    """Whether there is enough space after the trial's own files are removed."""
    return found.free_bytes < found.needed_bytes <= found.free_bytes + used_bytes


def _full_file_systems(error: BaseException, mounts: list[str]) -> Iterator[str]:
    """The file systems that are probably full, each by a folder on it."""
    named = [str(Path(name).parent) for name in _file_names(error)]
    seen = set[int]()
    for folder in (*named, *mounts):
        try:
            device, found = Path(folder).stat().st_dev, os.statvfs(folder)
        except OSError:
            continue
        full = found.f_bavail * found.f_frsize < _NEARLY_FULL_BYTES or (found.f_files > 0 and found.f_favail == 0)
        if device not in seen and (folder in named or full):
            yield folder
        seen.add(device)


def _file_names(error: BaseException) -> Iterator[str]:
    if isinstance(error, OSError):
        for name in (error.filename, error.filename2):
            if isinstance(name, str | bytes | os.PathLike):
                yield os.fsdecode(name)


def _folder_list(folders: list[str]) -> str:
    others = "the data disk is not full"
    if not folders:
        return f"an unknown file system ({others})"
    return f"the file system of {' or '.join(folders)} ({others})"
