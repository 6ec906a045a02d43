"""A fork without Python's hooks: a child process like that of `os.fork`."""

from __future__ import annotations

import ctypes
import errno
import subprocess
import sys
import threading

import pytest

from podium.sweep.runtime.fork_without_hooks import fork_without_hooks

_CHILD_WITH_A_THREAD = """
import os, threading
from podium.sweep.runtime.fork_without_hooks import fork_without_hooks
from podium.sweep.runtime.process_trees import children
reading, writing = os.pipe()
pid = fork_without_hooks()
if pid == 0:
    thread = threading.Thread(target=os.write, args=(writing, str(os.getpid()).encode()))
    thread.start()
    thread.join()
    os._exit(7)
assert pid in children(os.getpid())
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
assert os.read(reading, 100) == str(pid).encode()
"""

_HOOKS = """
import os
from podium.sweep.runtime.fork_without_hooks import fork_without_hooks
called = []
os.register_at_fork(before=lambda: called.append("before"), after_in_child=lambda: called.append("child"))
pid = fork_without_hooks()
if pid == 0:
    os._exit(len(called))
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert called == []
"""


@pytest.mark.parametrize("program", [_CHILD_WITH_A_THREAD, _HOOKS], ids=["child_starts_a_thread", "no_hooks_called"])
def test_fork_of_a_process_with_one_thread(program: str) -> None:
    # In an interpreter of its own: other tests leave threads in this one.
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_process_with_threads_is_refused() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        with pytest.raises(RuntimeError, match="one thread"):
            fork_without_hooks()
    finally:
        done.set()
        thread.join()


def test_refused_fork_is_an_os_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses() -> int:
        ctypes.set_errno(errno.EAGAIN)
        return -1

    monkeypatch.setattr(threading, "active_count", lambda: 1)
    with pytest.raises(BlockingIOError):
        fork_without_hooks(refuses)
