"""Forks this process without Python's fork hooks, and counts its threads before; processes that fork.

`os.fork` calls the hooks that modules have registered with `os.register_at_fork`. Those of logging and threading
replace locks that another thread may have held, and that of random draws a new seed. A process with one thread holds
none of these locks, and fork servers and attempts are seeded explicitly; but the hooks run in every child, in memory
that is then copied. Measured with torch imported: 140 of the 2,000 pages that a trial copies, and 65 of the 400 that
its fork server copies; 360 of the 1,060 that a fork server touches until it is ready.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

_LIBC = ctypes.PyDLL(None, use_errno=True)  # keeps the interpreter lock during the call, as os.fork does


def fork_without_hooks(fork: Callable[[], int] = _LIBC.fork) -> int:
    """Fork as `os.fork` does, but without hooks; for a process with one thread. `fork`: that of the C library.

    Hooks of the C library (`pthread_atfork`), which OpenMP, OpenSSL and CUDA use, run as always. Raises `OSError`, and
    `RuntimeError` if Python runs other threads: a child whose parent was asked to yield the interpreter lock would wait
    forever for a thread that the fork did not copy.
    """
    if threading.active_count() > 1:
        raise RuntimeError(
            f"fork_without_hooks needs a process with one thread; {threading.active_count()} are running"
        )
    sys.audit("os.fork")
    pid = fork()
    if pid < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return pid


def count_threads() -> int:
    """The number of threads of this process, without jemalloc's own: that library restarts it after a fork."""
    names = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
    return len([name for name in names if name != "jemalloc_bg_thd"])
