"""Measures the processor time, memory and storage traffic of a process tree; slot, Linux."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.sweep.runtime import attempt_resource_usage
from podium.sweep.runtime.process_cpu_and_connections import cpu_s
from podium.sweep.runtime.process_trees import descendants

_REST = 200  # pause between two measurements of shared memory, as a multiple of their time: 0.5 % of a core


@dataclass(frozen=True, slots=True)
class Totals:
    """What the processes of a tree have used since their start, with the children that they have collected."""

    cpu_s: float
    read_bytes: int
    written_bytes: int


class ProcessTreeMeter:
    """Measures the descendants of a process."""

    def __init__(self, root: int, ignored: Callable[[], int | None] = lambda: None) -> None:
        """`ignored` returns a descendant that does not count, if there is one."""
        self._root = root
        self._ignored = ignored
        self._resident = 0
        self._peaks: dict[int, int] = {}  # by process
        self.above = 0  # bytes by which one of them has exceeded its memory since the last measurement
        self.shared = 0  # bytes that the sum of resident sizes counts too often
        self._due_s = 0.0

    def pids(self) -> list[int]:
        """The descendants that count."""
        ignored = self._ignored()
        return [pid for pid in descendants(self._root) if pid != ignored]

    def roughly(self, pids: Sequence[int]) -> int:
        """Memory in bytes: anonymous and shared memory, resident or swapped, without files.

        Without what processes share (the fork server's template, forked children), as `exactly` has found it last.
        """
        peaks: dict[int, int] = {}
        self._resident = self.above = 0
        for pid in pids:
            now, peaks[pid] = attempt_resource_usage.resident(pid)
            self._resident += now
            if peaks[pid] > self._peaks.get(pid, 0):
                self.above = max(self.above, peaks[pid] - now)
        self._peaks = peaks
        return self._resident - self.shared if self._resident > self.shared else self._resident

    def is_due(self, allowed: float) -> bool:
        """Whether to call `exactly` now: after a pause, and whenever the memory may exceed `allowed`."""
        return self._resident > allowed or time.monotonic() >= self._due_s

    def exactly(self, pids: Sequence[int]) -> int:
        """The same memory, where what processes share counts proportionally.

        Slow, and best called in a thread: the kernel walks all pages.
        """
        began_s = time.monotonic()
        exact = sum(map(attempt_resource_usage.proportional, pids))
        now_s = time.monotonic()
        self.shared = max(0, self._resident - exact)
        self._due_s = now_s + _REST * (now_s - began_s)
        return exact

    def totals(self, pids: Sequence[int]) -> Totals:
        """What these processes have used so far."""
        traffic = [_traffic(pid) for pid in pids]
        return Totals(
            cpu_s=sum(cpu_s(pid, collected=True) for pid in pids),
            read_bytes=sum(read for read, _ in traffic),
            written_bytes=sum(written for _, written in traffic),
        )


def _traffic(pid: int | str) -> tuple[int, int]:
    """Bytes that a process has read from storage and written to it."""
    try:
        lines = Path(f"/proc/{pid}/io").read_bytes().splitlines()
    except OSError:  # it has ended, or is that of another user
        return 0, 0
    values = dict(line.split(b": ", 1) for line in lines)
    written = int(values.get(b"write_bytes", 0)) - int(values.get(b"cancelled_write_bytes", 0))
    return int(values.get(b"read_bytes", 0)), max(0, written)


def own_totals() -> Totals:
    """What this process has used so far, with the children that it has collected."""
    read_bytes, written_bytes = _traffic("self")
    return Totals(sum(os.times()[:4]), read_bytes, written_bytes)


def machine_memory_bytes() -> int:
    """The memory that processes of this machine, or of the cgroup of this process, may use."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [limit for path in _limit_files() if (limit := _limit(path)) is not None]
    return min([total, *limits])


def _limit_files() -> list[Path]:
    """The files with the memory limits of the cgroup and of those that contain it."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if "memory" in controllers.split(","):
            return [Path(f"/sys/fs/cgroup/memory{group}/memory.limit_in_bytes")]
        if not controllers:
            own = Path(f"/sys/fs/cgroup{group}")
            return [each / "memory.max" for each in (own, *own.parents) if each.is_relative_to("/sys/fs/cgroup")]
    return []


def _limit(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
