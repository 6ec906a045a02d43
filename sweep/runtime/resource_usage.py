"""How much an attempt uses: memory of its process tree, bytes in its folders, the kernel's kills; Linux, slot."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path

from podium.sweep.runtime.process_trees import descendants

_CALM_S = 0.25
_TIGHT_S = 0.02
_MEMORY_BYTES_S = 4e9  # faster than one process fills memory: nearer to the bound is looked at more often
_REST = 4  # times as long as a look at memory took; shared pages are slow to count
_FOLDERS_FIRST_S = 0.5
_FOLDERS_CALM_S = 1.0
_FOLDER_BYTES_S = 1e9
_ENTRY_BYTES = 4096  # of an empty file too: it takes an inode, and time to remove
_WALK_SHARE = 0.05  # of one core, for walking through folders


async def memory_over(root: int, allowed: int) -> int:
    """Wait until the processes below `root` use more than `allowed` bytes; returns how many."""
    while True:
        began_s = time.monotonic()
        used = memory_below(root, allowed)
        if used > allowed:
            return used
        took_s = time.monotonic() - began_s
        await asyncio.sleep(max(_REST * took_s, min(_CALM_S, max(_TIGHT_S, (allowed - used) / _MEMORY_BYTES_S))))


async def folders_over(folders: tuple[Path, ...], allowed: int) -> int:
    """Wait until the folders take more than `allowed` bytes of disk; returns how many."""
    wait_s = _FOLDERS_FIRST_S
    while True:
        await asyncio.sleep(wait_s)
        began_s = time.monotonic()
        used = await asyncio.to_thread(folder_bytes, folders)
        if used > allowed:
            return used
        took_s = time.monotonic() - began_s
        wait_s = max(took_s / _WALK_SHARE, min(_FOLDERS_CALM_S, max(_TIGHT_S, (allowed - used) / _FOLDER_BYTES_S)))


def memory_below(root: int, allowed: int) -> int:
    """Bytes that the processes below `root` use: their anonymous and shared memory, swapped or not, no files.

    What processes share (the fork server's template, a trial's forked children) counts for each by its share (PSS).
    The kernel walks through all pages to say that, so it is asked only when the plain sum is over `allowed`.
    """
    pids = descendants(root)
    roughly = sum(_resident(pid) for pid in pids)
    return roughly if roughly <= allowed else sum(_proportional(pid) for pid in pids)


def _resident(pid: int) -> int:
    return _sum_kb(Path(f"/proc/{pid}/status"), ("RssAnon:", "RssShmem:", "VmSwap:"))


def _proportional(pid: int) -> int:
    return _sum_kb(Path(f"/proc/{pid}/smaps_rollup"), ("Pss_Anon:", "Pss_Shmem:", "SwapPss:"))


def _sum_kb(path: Path, names: tuple[str, ...]) -> int:
    try:
        lines = path.read_text(errors="replace").splitlines()  # the name of a process is any bytes
    except OSError:  # it has ended
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(names)) << 10


def folder_bytes(folders: Iterable[Path]) -> int:
    """What all below the folders takes of the disk; a file with several names counts once, no entry for nothing."""
    total, seen = 0, set[int]()
    left = [str(folder) for folder in folders]
    while left:
        try:
            entries = list(os.scandir(left.pop()))
        except OSError:  # it went meanwhile
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
    """The file in which the kernel counts the processes of our cgroup that it killed for memory; None without one."""
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
    """How many processes the kernel has killed for memory; None where it does not say."""
    if counter is None:
        return None
    try:
        words = counter.read_text().split()
        return int(words[words.index("oom_kill") + 1])
    except (OSError, ValueError, IndexError):
        return None
