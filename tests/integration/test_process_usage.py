"""Usage of a process tree, measured on real processes."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from podium.sweep.runtime.process_usage import ProcessTreeMeter, machine_memory_bytes

MB = 1 << 20
# Prints a line when a phase is over, and waits for one before the next.
PROGRAM = """
import os, sys, time
def next_phase():
    print("done", flush=True); sys.stdin.readline()
block = bytearray(os.urandom(1 << 20)) * 64
next_phase()
while time.process_time() < 0.6: pass
next_phase()
if (child := os.fork()) == 0:
    end = time.process_time() + 0.4
    while time.process_time() < end: pass
    os._exit(0)
os.waitpid(child, 0)
next_phase()
for _ in range(3):
    if os.fork() == 0:
        time.sleep(60); os._exit(0)
next_phase()
"""


class Program:
    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"import os\nos.setsid()\n{PROGRAM}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.wait()

    def _pipe(self, pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe

    def wait(self) -> None:
        assert self._pipe(self.process.stdout).readline() == "done\n"

    def next(self) -> None:
        self._pipe(self.process.stdin).write("\n")
        self._pipe(self.process.stdin).flush()
        self.wait()


@pytest.fixture
def program() -> Iterator[Program]:
    started = Program()
    yield started
    subprocess.run(["kill", "-9", "--", f"-{started.process.pid}"], check=True)
    started.process.communicate()


def test_memory_and_processor_time_of_a_tree(program: Program) -> None:
    pid = program.process.pid
    meter = ProcessTreeMeter(pid)
    own = [pid]
    assert 64 * MB <= meter.roughly(own) < 120 * MB
    before = meter.totals(own).cpu_s
    program.next()
    used = meter.totals(own).cpu_s
    assert 0.4 <= used - before < 1.5
    program.next()  # a child has ended
    assert 0.3 <= meter.totals(own).cpu_s - used < 1.2
    program.next()  # three children, which share the memory of their parent
    pids = [pid, *meter.pids()]
    assert len(pids) == 4
    assert meter.roughly(pids) > 4 * 64 * MB
    assert meter.is_due(4 * 64 * MB)
    assert 64 * MB <= meter.exactly(pids) < 140 * MB
    assert 64 * MB <= meter.roughly(pids) < 140 * MB
    assert not meter.is_due(4000 * MB)  # it rests


@pytest.mark.slow
def test_next_tree_shares_as_much_until_it_is_measured(program: Program) -> None:
    for _ in range(3):
        program.next()
    pid = program.process.pid
    pids = [pid, *ProcessTreeMeter(pid).pids()]
    earlier = ProcessTreeMeter(pid)
    earlier.roughly(pids)
    earlier.exactly(pids)
    meter = earlier.following()
    assert 64 * MB <= meter.roughly(pids) < 140 * MB
    assert not meter.is_due(4000 * MB)
    assert meter.is_due(64 * MB)


def test_shared_memory_is_measured_sooner_when_number_of_processes_has_changed(program: Program) -> None:
    for _ in range(3):
        program.next()
    pid = program.process.pid
    pids = [pid, *ProcessTreeMeter(pid).pids()]
    meter = ProcessTreeMeter(pid)
    meter.roughly(pids)
    meter.exactly(pids)
    meter.roughly(pids[:-1])
    while not meter.is_due(math.inf):
        time.sleep(0.001)
    meter.roughly(pids)
    assert not meter.is_due(math.inf)


@pytest.mark.slow
def test_ignored_process_does_not_count(program: Program) -> None:
    for _ in range(3):
        program.next()
    pids = ProcessTreeMeter(program.process.pid).pids()
    assert len(pids) == 3
    assert ProcessTreeMeter(program.process.pid, lambda: pids[0]).pids() == pids[1:]


def test_processes_that_have_ended_count_as_nothing() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    meter = ProcessTreeMeter(ended.pid)
    assert meter.pids() == []
    assert (meter.roughly([ended.pid]), meter.exactly([ended.pid])) == (0, 0)
    assert meter.totals([ended.pid]).cpu_s == 0.0


def test_machine_has_at_most_its_physical_memory() -> None:
    total_kb = int(Path("/proc/meminfo").read_text().split("MemTotal:", 1)[1].split()[0])
    assert 0 < machine_memory_bytes() <= total_kb << 10
