"""Process trees: every descendant is killed, and a child does not outlive its parent."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from podium.sweep.runtime.process_trees import children, descendants, kill_orphans
from podium.sweep.values.attempt_outcomes import exit_name

GONE_S = 10


def _python(script: str) -> subprocess.Popen[str]:
    """A separate process, since the tested code kills everything below it."""
    head = "import os, signal, sys, time\nfrom podium.sweep.runtime.process_trees import *\n"
    return subprocess.Popen(
        [sys.executable, "-P", "-c", head + script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _wait_until_gone(pid: int) -> None:
    """Return when the process has ended, as its pidfd shows."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        ended, _, _ = select.select([descriptor], [], [], GONE_S)
        assert ended, f"process {pid} lives on"
    finally:
        os.close(descriptor)


TREE = """
reading, writing = os.pipe()
def fork(daemon):
    if os.fork() == 0:
        if daemon:
            os.setsid()
            if os.fork():
                os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(writing, f"{os.getpid()}\\n".encode())
        time.sleep(1000)
become_subreaper()
for daemon in (False, True, True):
    fork(daemon)
made = b""
while made.count(b"\\n") < 3:
    made += os.read(reading, 100)
killed = kill_descendants()
print(sorted(map(int, made.split())) == [pid for pid in killed if str(pid).encode() in made.split()])
print(children(os.getpid()), descendants(os.getpid()))
"""


def test_every_descendant_is_killed_including_daemons() -> None:
    output, _ = _python(TREE).communicate(timeout=30)
    assert output.splitlines() == ["True", "[] []"]


DYING_PARENT = """
parent = os.getpid()
if os.fork() == 0:
    die_with_parent(parent)
    print(os.getpid(), flush=True)
    time.sleep(1000)
sys.stdin.read()
"""


def test_child_dies_with_its_parent() -> None:
    with _python(DYING_PARENT) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert children(parent.pid) == descendants(parent.pid) == [child]
        parent.kill()
        _wait_until_gone(child)


def test_child_exits_immediately_when_parent_is_already_dead() -> None:
    with _python("die_with_parent(1 if os.getppid() != 1 else 2)\nprint('lives')") as orphan:
        output, _ = orphan.communicate(timeout=30)
        assert (output, orphan.returncode) == ("", 1)


def test_dead_process_has_no_children() -> None:
    with _python("") as done:
        done.communicate(timeout=30)
    assert children(done.pid) == [] and not Path(f"/proc/{done.pid}").exists()


@pytest.mark.parametrize(
    ("ending", "name"),
    [("sys.exit(0)", "0"), ("sys.exit(3)", "3"), ("os.kill(os.getpid(), 9)", "SIGKILL"),
     ("os.kill(os.getpid(), signal.SIGRTMIN + 1)", "SIG35")],
)  # fmt: skip
def test_exit_of_process_is_named(ending: str, name: str) -> None:
    pid = os.fork()
    if pid == 0:
        exec(ending, {"os": os, "sys": _Exit, "signal": signal})
    _, status = os.waitpid(pid, 0)
    assert exit_name(os.waitstatus_to_exitcode(status)) == name


class _Exit:
    """Ends a forked child without unwinding the test runner in it."""

    exit = staticmethod(os._exit)


def test_process_of_another_user_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated: a test that runs as root may kill every process."""
    left = subprocess.Popen(["sleep", "60"])
    kill = os.kill

    def refuse(pid: int, number: int) -> None:
        if pid == left.pid:
            raise PermissionError(1, "Operation not permitted")
        kill(pid, number)

    others = set(children(os.getpid())) - {left.pid}
    monkeypatch.setattr(os, "kill", refuse)
    began = time.monotonic()
    assert kill_orphans(others, deadline_s=30) == []
    assert time.monotonic() - began < 10, "it is not tried again"
    monkeypatch.undo()
    left.kill()
    left.wait()
