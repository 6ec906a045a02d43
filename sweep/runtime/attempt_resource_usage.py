"""Measures the resource usage of an attempt: memory of a process, size of its folders, OOM kills; slot, Linux."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Container, Iterable
from pathlib import Path
from typing import NamedTuple

from podium.sweep.runtime.kernel_files import read_kernel_file

_TIGHT_S = 0.02
_MEMORY_BYTES_S = 4e9  # upper bound of a process's allocation rate: sets the polling interval near the limit
_REST = 4  # minimum pause, as a multiple of the measurement time; counting shared pages is slow
_FOLDERS_FIRST_S = 0.5
_FOLDERS_CALM_S = 1.0
_FOLDER_BYTES_S = 1e9
_ENTRY_BYTES = 4096  # minimum size of an entry: empty files use an inode, too
_WALK_SHARE = 0.05  # maximum share of one core for measuring folders
# Names of lines in /proc.
_MEMORY = (b"RssAnon", b"RssShmem", b"VmSwap", b"VmHWM", b"RssFile")
_PROPORTIONAL = (b"Pss_Anon", b"Pss_Shmem", b"SwapPss")
_ANONYMOUS = (b"Anonymous", b"Swap")
_WRITTEN = (b"Private_Dirty", b"Private_Hugetlb")


def memory_pause_s(used: int, allowed: float, took_s: float, calm_s: float) -> float:
    """How long to wait until the memory of an attempt is measured again.

    Args:
        used: Bytes.
        allowed: Bytes; at the limit, the next measurement follows soon.
        took_s: Duration of this measurement.
        calm_s: The pause far from the limit.
    """
    return max(_REST * took_s, min(calm_s, max(_TIGHT_S, (allowed - used) / _MEMORY_BYTES_S)))


async def poll_folders(folders: tuple[Path, ...], allowed: int) -> int:
    """Wait until the folders use more than `allowed` bytes of disk; returns the usage."""
    wait_s = _FOLDERS_FIRST_S
    while True:
        await asyncio.sleep(wait_s)
        began_s = time.monotonic()
        used = await asyncio.to_thread(folder_bytes, folders)
        if used > allowed:
            return used
        took_s = time.monotonic() - began_s
        wait_s = max(took_s / _WALK_SHARE, min(_FOLDERS_CALM_S, max(_TIGHT_S, (allowed - used) / _FOLDER_BYTES_S)))


class ProcessMemory(NamedTuple):
    """Memory of a process in bytes, with what it shares; 0 if it has ended."""

    now: int  # anonymous and shared memory, resident or swapped
    highest: int  # the highest resident size since its start, with the files that were mapped at that moment
    files: int  # resident pages of files that are mapped now
    shmem: int = 0  # shared memory, resident


def resident(pid: int | str) -> ProcessMemory:
    """The memory of a process, as the kernel counts it."""
    kb = _kb(f"/proc/{pid}/status", _MEMORY)
    shmem = kb.get(b"RssShmem", 0)
    now = kb.get(b"RssAnon", 0) + shmem + kb.get(b"VmSwap", 0)
    return ProcessMemory(now << 10, kb.get(b"VmHWM", 0) << 10, kb.get(b"RssFile", 0) << 10, shmem << 10)


class WalkedMemory(NamedTuple):
    """Memory of a process in bytes, from a walk of all its pages; 0 if it has ended."""

    proportional: int  # like `ProcessMemory.now`, where memory of several processes counts proportionally (PSS)
    anonymous: int  # like `ProcessMemory.now` without resident shared memory; less while the process frees memory


def walked(pid: int) -> WalkedMemory:
    """The memory of a process; slow, for the kernel walks all pages."""
    kb = _kb(f"/proc/{pid}/smaps_rollup", (*_PROPORTIONAL, *_ANONYMOUS))
    proportional, anonymous = (sum(kb.get(name, 0) for name in names) for names in (_PROPORTIONAL, _ANONYMOUS))
    return WalkedMemory(proportional << 10, anonymous << 10)


def private_memory() -> int:
    """Bytes of memory that this process has written, and no other one uses.

    Pages of files that it only reads do not count: those of a library are shared as soon as another process loads it.
    """
    return sum(_kb("/proc/self/smaps_rollup", _WRITTEN).values()) << 10


def _kb(path: str, names: Container[bytes]) -> dict[bytes, int]:
    """The lines with these names; none if the process has ended."""
    try:
        lines = read_kernel_file(path).splitlines()
    except OSError:
        return {}
    split = (line.partition(b":") for line in lines)
    return {name: int(value.split()[0]) for name, _, value in split if name in names}


def folder_bytes(folders: Iterable[Path]) -> int:
    """Disk usage of folders; hard links count once, and each entry counts at least `_ENTRY_BYTES`."""
    total, seen = 0, set[int]()
    left = [str(folder) for folder in folders]
    while left:
        try:
            entries = list(os.scandir(left.pop()))
        except OSError:  # removed meanwhile
            continue
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if status.st_ino in seen:
                continue
            seen.add(status.st_ino)
            total += max(status.st_blocks * 512, _ENTRY_BYTES)
            if stat.S_ISDIR(status.st_mode):
                left.append(entry.path)
    return total


def oom_counter() -> Path | None:
    """The file with the kernel's OOM-kill counter of this process's cgroup; None if there is none."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if "memory" in controllers.split(","):
            paths = [Path(f"/sys/fs/cgroup/memory{group}/memory.oom_control")]
        elif not controllers:
            paths = [Path(f"/sys/fs/cgroup{group}/memory.events"), Path("/sys/fs/cgroup/memory.events")]
        else:
            continue
        for path in paths:
            if oom_kills(path) is not None:
                return path
    return None


def oom_kills(counter: Path | None) -> int | None:
    """The number of OOM kills; None if unknown."""
    if counter is None:
        return None
    try:
        words = read_kernel_file(str(counter)).split()
        return int(words[words.index(b"oom_kill") + 1])
    except (OSError, ValueError, IndexError):
        return None
