"""The rest is imported when cores are idle, or when an attempt uses much processor time, as an import does."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from podium.sweep.process_template.rest_import_schedule import (
    ATTEMPT_CPU_S,
    IDLE_CORES,
    LOOK_S,
    RestImportSchedule,
    idle_core_s,
)

ATTEMPT = """
import os, time
end_s = time.process_time() + {}
while time.process_time() < end_s:
    pass
print(flush=True)
time.sleep(600)
"""
FORK_SERVER = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {ATTEMPT!r}.format(sys.argv[1])])"


class Machine:
    """A clock, and cores with an idle time."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.idle_s = 5000.0
        self.schedule = RestImportSchedule(lambda: self.idle_s, lambda: self.now_s)

    def passes(self, seconds: float, idle_cores: float) -> None:
        self.now_s += seconds
        self.idle_s += seconds * idle_cores


@pytest.mark.parametrize(("idle_cores", "expected"), [(0.0, False), (IDLE_CORES - 0.1, False), (16.0, True)])
def test_import_is_due_when_cores_are_idle(idle_cores: float, expected: bool) -> None:
    machine = Machine()
    machine.passes(2.0, idle_cores)
    assert machine.schedule.is_due(()) is expected


def test_idle_time_counts_since_the_last_look() -> None:
    machine = Machine()
    machine.passes(100.0, 0.0)
    assert not machine.schedule.is_due(())
    assert machine.schedule.next_look_s == machine.now_s + LOOK_S
    machine.passes(LOOK_S / 2, 16.0)
    assert not machine.schedule.is_due(()), "too short to tell"
    machine.passes(LOOK_S, 16.0)
    assert machine.schedule.is_due(())


@pytest.mark.parametrize(("used_s", "expected"), [(0.0, False), (ATTEMPT_CPU_S, True)])
def test_import_is_due_when_an_attempt_uses_much_processor_time(used_s: float, expected: bool) -> None:
    machine = Machine()
    machine.passes(LOOK_S, 0.0)
    with subprocess.Popen(
        [sys.executable, "-c", FORK_SERVER, str(used_s)], stdout=subprocess.PIPE, start_new_session=True
    ) as fork_server:
        try:
            assert fork_server.stdout is not None and fork_server.stdout.read(1) == b"\n"
            assert machine.schedule.is_due([fork_server.pid]) is expected
        finally:
            os.killpg(fork_server.pid, 9)


def test_idle_time_of_this_machine_grows() -> None:
    before_s = idle_core_s()
    time.sleep(0.05)
    assert idle_core_s() >= before_s > 0
