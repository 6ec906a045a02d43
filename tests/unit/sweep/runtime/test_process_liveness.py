"""What is seen of a process: running, also while it is stopped, traced, ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from podium.sweep.runtime.process_liveness import is_running, is_traced
from tests.debugger import attached_debugger


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits until it is killed."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as started:
        yield started
        started.kill()


def test_stopped_process_is_running_and_not_traced(process: subprocess.Popen[bytes]) -> None:
    os.kill(process.pid, signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    assert is_running(process.pid) and not is_traced(process.pid)
    os.kill(process.pid, signal.SIGCONT)
    os.waitpid(process.pid, os.WCONTINUED)
    assert is_running(process.pid)


def test_debugger_is_seen_while_it_is_attached(process: subprocess.Popen[bytes]) -> None:
    assert not is_traced(process.pid)
    with attached_debugger(process.pid):
        assert is_traced(process.pid)
    assert not is_traced(process.pid)


def test_ended_process_is_neither(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not is_running(process.pid), "a zombie"
    process.wait()
    assert not (is_running(process.pid) or is_traced(process.pid))
