"""Ends process trees completely: subreapers, death with the parent, killing all descendants; every process, Linux."""

from __future__ import annotations

import ctypes
import os
import signal
import time

from podium.sweep.runtime.kernel_files import read_kernel_file

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def become_subreaper() -> None:
    """Make this process the parent of orphaned descendants, including daemonized ones, instead of init."""
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def die_with_parent(parent_pid: int, signal_number: int = signal.SIGKILL) -> None:
    """Ask the kernel to signal this process when the *thread* that forked it ends; exit if it already has."""
    if _libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent_pid:
        os._exit(1)


def children(pid: int) -> list[int]:
    """The running children of all threads of a process; [] if it has ended."""
    found: list[int] = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - as in `read_kernel_file`
    except OSError:
        return []
    for task in tasks:
        try:
            found += map(int, read_kernel_file(f"/proc/{pid}/task/{task}/children").split())
        except OSError:
            continue
    return found


def descendants(pid: int) -> list[int]:
    """All descendants of `pid`, breadth-first."""
    found: list[int] = []
    queue = children(pid)
    while queue:
        child = queue.pop(0)
        found.append(child)
        queue += children(child)
    return found


def kill_descendants(*, deadline_s: float = 5.0) -> list[int]:
    """Kill and reap all descendants of this process; returns the killed pids.

    Complete only in a subreaper, which adopts orphaned processes and kills them in the next iteration. Processes of
    other users, which this one may not kill, are left.
    """
    killed: set[int] = set()
    refused: set[int] = set()
    end = time.monotonic() + deadline_s
    while (pids := set(descendants(os.getpid())) - refused) and time.monotonic() < end:
        for pid in pids:
            _kill(pid, killed, refused)
        reap()
        if children(os.getpid()):
            time.sleep(0.002)
    return sorted(killed)


def kill_orphans(keep: set[int], *, deadline_s: float = 3.0) -> list[int]:
    """Kill the children of this process that are not in `keep`, with their descendants; returns the killed pids.

    They are processes left behind by children that have ended. Processes in `keep` and their descendants are not
    affected. Processes of other users, which this one may not kill, are left.
    """
    killed: set[int] = set()
    refused: set[int] = set()
    end = time.monotonic() + deadline_s
    while (orphans := set(children(os.getpid())) - keep - refused) and time.monotonic() < end:
        for orphan in orphans:
            for pid in (*descendants(orphan), orphan):
                _kill(pid, killed, refused)
            try:
                os.waitpid(orphan, os.WNOHANG)
            except ChildProcessError:
                pass
        time.sleep(0.002)
    return sorted(killed)


def reap() -> list[tuple[int, int]]:
    """Reap all ended children: a (pid, wait status) pair for each."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.append((pid, status))


def _kill(pid: int, killed: set[int], refused: set[int]) -> None:
    """Send SIGKILL, and add the pid to one of the sets if the process exists."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    except PermissionError:
        refused.add(pid)
        return
    killed.add(pid)
