"""Measures the processor time, memory and storage traffic of a process tree; slot, Linux."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.sweep.runtime import attempt_resource_usage
from podium.sweep.runtime.attempt_resource_usage import ProcessMemory
from podium.sweep.runtime.kernel_files import read_kernel_file
from podium.sweep.runtime.process_cpu_and_connections import address_space, cpu_s
from podium.sweep.runtime.process_trees import descendants

_STEADY = 0.02  # by which memory may change while shared memory is measured, as a share
_FREED = 0.05  # by which the walk of the pages may find less, as a share: a kernel may count pages in batches
# Pause between two measurements of shared memory, as a multiple of their time.
_REST = 1000  # 0.1 % of a core
_REST_CHANGED = 200  # 0.5 % of a core, after processes were forked or have ended


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
        self._seen: dict[int, ProcessMemory] = {}  # by process; `highest` and `files`: the most of all measurements
        self._peaks: dict[int, int] = {}  # `new_peak` by process, in the last measurement
        self._now: dict[int, int] = {}  # memory by process, in the last measurement
        self._spaces: dict[int, int] = {}  # `address_space` by process
        self.above = 0  # bytes by which one of them has exceeded its memory since the last measurement
        self.shared = 0  # bytes that the sum of resident sizes counts too often
        self._measured = 0  # the number of processes for which `shared` was measured
        self._due_s = self._changed_due_s = 0.0

    def following(self) -> ProcessTreeMeter:
        """For the next process tree below the same process, if it runs the same program: until its shared memory is
        measured, it is considered to share as much.
        """
        meter = ProcessTreeMeter(self._root, self._ignored)
        meter.shared, meter._measured = self.shared, self._measured
        meter._due_s, meter._changed_due_s = self._due_s, self._changed_due_s
        return meter

    def pids(self) -> list[int]:
        """The descendants that count."""
        ignored = self._ignored()
        return [pid for pid in descendants(self._root) if pid != ignored]

    def roughly(self, pids: Sequence[int]) -> int:
        """Memory in bytes: anonymous and shared memory, resident or swapped, without files.

        Without what processes share (the fork server's template, forked children), as `exactly` has found it last.
        """
        self._forget_other_programs(pids)
        seen = {pid: attempt_resource_usage.resident(pid) for pid in pids}
        self._peaks = {pid: self.new_peak(pid, memory) for pid, memory in seen.items()}
        self._now = {pid: memory.now for pid, memory in seen.items()}
        self.above = self._above(self._now)
        self._resident = sum(self._now.values())
        self._seen = {pid: self._with_highest(pid, memory) for pid, memory in seen.items()}
        return self._resident - self.shared if self._resident > self.shared else self._resident

    def _above(self, now: Mapping[int, int]) -> int:
        """`above` for these amounts of memory by process."""
        return max([0, *(self._peaks.get(pid, 0) - memory for pid, memory in now.items())])

    def _with_highest(self, pid: int, memory: ProcessMemory) -> ProcessMemory:
        """`memory` with the highest values so far: a process that ends has none."""
        before = self._seen.get(pid, memory)
        return memory._replace(highest=max(memory.highest, before.highest), files=max(memory.files, before.files))

    def _forget_other_programs(self, pids: Sequence[int]) -> None:
        """Forget the memory of processes that have executed another program since: its files and peak are gone, and
        what it shared is measured again.
        """
        spaces = {pid: address_space(pid) or self._spaces.get(pid, 0) for pid in pids}
        for pid, space in spaces.items():
            if pid in self._seen and space != self._spaces[pid]:
                del self._seen[pid]
                self._measured = 0
                self._due_s = self._changed_due_s = 0.0
        self._spaces = spaces

    def new_peak(self, pid: int | None, memory: ProcessMemory) -> int:
        """The highest memory of a process, without files, if it is higher than in the last measurement; else 0.

        A lower bound as long as files stay mapped until they are measured: the kernel's peak includes them.
        """
        before = None if pid is None else self._seen.get(pid)
        if before is not None and memory.highest <= before.highest:
            return 0
        return memory.highest - max(memory.files, self._files_of(pid))

    def _files_of(self, pid: int | None) -> int:
        before = None if pid is None else self._seen.get(pid)
        return 0 if before is None else before.files

    @property
    def is_single(self) -> bool:
        """Whether the last measurement found one process at most."""
        return len(self._seen) <= 1

    def is_due(self, allowed: float) -> bool:
        """Whether to call `exactly` now: after a pause, which is shorter if the number of processes has changed, and
        whenever the memory may exceed `allowed`.
        """
        due_s = self._due_s if len(self._seen) == self._measured else self._changed_due_s
        return self._resident > allowed or time.monotonic() >= due_s

    def exactly(self, pids: Sequence[int]) -> int:
        """The same memory, where what processes share counts proportionally.

        Slow, and best called in a thread: the kernel walks all pages.
        """
        began_s = time.monotonic()
        before = [attempt_resource_usage.resident(pid) for pid in pids]
        walked = [attempt_resource_usage.walked(pid) for pid in pids]
        now_s = time.monotonic()
        exact = sum(memory.proportional for memory in walked)
        shmem = sum(memory.shmem for memory in before)
        counted = sum(memory.now for memory in before)
        found = {
            pid: memory.shmem + each.anonymous
            for pid, memory, each in zip(pids, before, walked, strict=True)
            if each.anonymous
            and address_space(pid) == self._spaces.get(pid)  # else other processes may count the same pages
        }
        self.above = self._above(self._now | found)
        freed = counted - shmem - sum(memory.anonymous for memory in walked)
        changed = abs(sum(attempt_resource_usage.resident(pid).now for pid in pids) - counted)
        if exact and changed <= _STEADY * counted and freed <= _FREED * counted:
            self.shared, self._measured = max(0, counted - exact), len(pids)
        else:  # memory changes, or the processes end
            self._measured = 0
        took_s = now_s - began_s
        self._due_s, self._changed_due_s = now_s + _REST * took_s, now_s + _REST_CHANGED * took_s
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
        lines = read_kernel_file(f"/proc/{pid}/io").splitlines()
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
        lines = read_kernel_file("/proc/self/cgroup").decode(errors="replace").splitlines()
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
        text = read_kernel_file(str(path)).strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
