"""Process trees that end whole: subreapers, death with the parent, killing every descendant; Linux, any process."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def become_subreaper() -> None:
    """Adopt descendants whose parent dies, daemonized ones too, instead of leaving them to init."""
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def die_with_parent(parent_pid: int, signal_number: int = signal.SIGKILL) -> None:
    """Ask the kernel to signal this process when the *thread* that forked it ends; exit if it already has."""
    if _libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent_pid:
        os._exit(1)


def children(pid: int) -> list[int]:
    """The living children of a process, over all its threads; [] when it is gone."""
    found: list[int] = []
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []
    for task in tasks:
        try:
            found += [int(word) for word in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


def descendants(pid: int) -> list[int]:
    """Every process below `pid`, nearest first."""
    found: list[int] = []
    queue = children(pid)
    while queue:
        child = queue.pop(0)
        found.append(child)
        queue += children(child)
    return found


def kill_descendants(*, deadline_s: float = 5.0) -> list[int]:
    """Kill and reap everything below this process; returns the pids killed.

    Complete only in a subreaper: what a dead child leaves behind is adopted here and killed in the next round.
    """
    killed: list[int] = []
    end = time.monotonic() + deadline_s
    while (pids := descendants(os.getpid())) and time.monotonic() < end:
        killed += [pid for pid in pids if _signal(pid, signal.SIGKILL)]
        reap()
        if children(os.getpid()):
            time.sleep(0.002)
    return sorted(set(killed))


def kill_orphans(keep: set[int], *, deadline_s: float = 3.0) -> list[int]:
    """Kill the children of this process that are not in `keep`, with all below them: what a dead child left here.

    Those in `keep`, and their descendants, are not touched. Returns the pids killed.
    """
    killed: list[int] = []
    end = time.monotonic() + deadline_s
    while (orphans := set(children(os.getpid())) - keep) and time.monotonic() < end:
        for orphan in orphans:
            killed += [pid for pid in (*descendants(orphan), orphan) if _signal(pid, signal.SIGKILL)]
            try:
                os.waitpid(orphan, os.WNOHANG)
            except ChildProcessError:
                pass
        time.sleep(0.002)
    return sorted(set(killed))


def reap() -> list[tuple[int, int]]:
    """Collect every child that has ended: (pid, wait status) each."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.append((pid, status))


def _signal(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def exit_name(status: int) -> str:
    """A wait status as people read it: `0`, `3`, `SIGKILL`; `SIG35` for a signal without a name."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return str(code)
    return signal.Signals(-code).name if -code in set(signal.Signals) else f"SIG{-code}"
