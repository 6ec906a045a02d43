"""The rest is imported when an attempt has used much processor time, as an import of its own takes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from podium.sweep.process_template.rest_import_schedule import ATTEMPT_CPU_S, LOOK_S, RestImportSchedule

ATTEMPT = """
import sys, time
end_s = time.process_time() + float(sys.argv[1])
while time.process_time() < end_s:
    pass
print(flush=True)
time.sleep(600)
"""
FORK_SERVER = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {ATTEMPT!r}, sys.argv[1]])"


class Clock:
    """A clock that tests turn."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize(("used_s", "expected"), [(0.0, False), (ATTEMPT_CPU_S, True)])
def test_import_is_due_when_an_attempt_uses_much_processor_time(used_s: float, expected: bool) -> None:
    clock = Clock()
    schedule = RestImportSchedule(clock)
    with subprocess.Popen(
        [sys.executable, "-c", FORK_SERVER, str(used_s)], stdout=subprocess.PIPE, start_new_session=True
    ) as fork_server:
        try:
            assert fork_server.stdout is not None and fork_server.stdout.read(1) == b"\n"
            clock.now_s += LOOK_S / 2
            assert not schedule.is_due([fork_server.pid]), "it does not look that often"
            clock.now_s += LOOK_S
            assert schedule.is_due([fork_server.pid]) is expected
            assert schedule.next_look_s == clock.now_s + LOOK_S
        finally:
            os.killpg(fork_server.pid, signal.SIGKILL)


def test_processor_time_of_fork_servers_does_not_count() -> None:
    clock = Clock()
    schedule = RestImportSchedule(clock)
    with subprocess.Popen([sys.executable, "-c", ATTEMPT, str(ATTEMPT_CPU_S)], stdout=subprocess.PIPE) as fork_server:
        try:
            assert fork_server.stdout is not None and fork_server.stdout.read(1) == b"\n"
            clock.now_s += LOOK_S
            assert not schedule.is_due([fork_server.pid])
        finally:
            fork_server.kill()
