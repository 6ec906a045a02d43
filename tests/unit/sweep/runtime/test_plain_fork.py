"""A fork without Python's hooks: a child process like that of `os.fork`."""

from __future__ import annotations

import ctypes
import errno
import os
import threading

import pytest

from podium.sweep.runtime import plain_fork
from podium.sweep.runtime.process_trees import children


def test_child_is_a_process_of_its_own_and_can_start_threads() -> None:
    reading, writing = os.pipe()
    pid = plain_fork.plain_fork()
    if pid == 0:
        thread = threading.Thread(target=os.write, args=(writing, str(os.getpid()).encode()))
        thread.start()
        thread.join()
        os._exit(7)
    assert pid in children(os.getpid())
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert os.read(reading, 100) == str(pid).encode()
    os.close(reading)
    os.close(writing)


def test_hooks_are_not_called() -> None:
    called: list[str] = []
    os.register_at_fork(before=lambda: called.append("before"), after_in_child=lambda: called.append("child"))
    pid = plain_fork.plain_fork()
    if pid == 0:
        os._exit(len(called))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert called == []


def test_refused_fork_is_an_os_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class _Refuses:
        @staticmethod
        def fork() -> int:
            ctypes.set_errno(errno.EAGAIN)
            return -1

    monkeypatch.setattr(plain_fork, "_libc", _Refuses)
    with pytest.raises(BlockingIOError):
        plain_fork.plain_fork()
