"""Usage of a process tree, measured on real processes."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from podium.sweep.runtime.attempt_resource_usage import ProcessMemory
from podium.sweep.runtime.process_cpu_and_connections import has_ended
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


ALLOCATES = """
import sys
def next_phase():
    print("done", flush=True); sys.stdin.readline()
next_phase()
block = bytearray(b"x") * (256 << 20)
next_phase()
del block
next_phase()
"""
# Its child shares a block with it and has mapped a file, before it runs another program.
FORKS_AND_EXECUTES = """
import mmap, os, sys, tempfile
block = bytearray(os.urandom(1 << 20)) * 64
file = tempfile.TemporaryFile(dir="/var/tmp")  # not in shared memory
file.write(block)
content = mmap.mmap(file.fileno(), 0)
other = '''
import sys
block = bytearray(b"x") * (64 << 20)
print("done", flush=True); sys.stdin.readline()
bytearray(b"x") * (256 << 20)
print("done", flush=True); sys.stdin.readline()
'''
if (child := os.fork()) == 0:
    sum(content[::4096])
    print("done", flush=True); sys.stdin.readline()
    os.execv(sys.executable, [sys.executable, "-c", other])
os.waitpid(child, 0)
"""


class Program:
    def __init__(self, text: str = PROGRAM) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"import os\nos.setsid()\n{text}"],
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

    def kill_uncollected(self, child: int) -> None:
        """Kill a child of the program, which is stopped before, so that it does not collect the child."""
        self.process.send_signal(signal.SIGSTOP)
        os.kill(child, signal.SIGKILL)
        while not has_ended(child):
            time.sleep(0.001)


@pytest.fixture
def program(request: pytest.FixtureRequest) -> Iterator[Program]:
    started = Program(getattr(request, "param", PROGRAM))
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


@pytest.mark.parametrize("program", [ALLOCATES], indirect=True)
def test_peak_counts_though_memory_is_freed_while_it_is_measured(program: Program) -> None:
    own = [program.process.pid]
    meter = ProcessTreeMeter(program.process.pid)
    meter.roughly(own)
    program.next()
    assert meter.roughly(own) > 256 * MB
    program.next()
    assert meter.exactly(own) < 100 * MB
    assert 250 * MB <= meter.above < 300 * MB  # the kernel may count pages in batches
    for _ in range(2):
        assert meter.roughly(own) < 100 * MB
        assert meter.above == 0, "the peak has been counted"
        meter.exactly(own)
        assert meter.above == 0


@pytest.mark.parametrize("program", [FORKS_AND_EXECUTES], indirect=True)
def test_files_of_a_process_that_has_ended_are_no_part_of_its_peak(program: Program) -> None:
    (child,) = ProcessTreeMeter(program.process.pid).pids()
    meter = ProcessTreeMeter(program.process.pid)
    meter.roughly([child])
    program.kill_uncollected(child)
    assert meter.roughly([child]) == 0
    peak = meter.new_peak(child, ProcessMemory(0, 500 * MB, 0))
    earlier = meter.new_peak(child, ProcessMemory(0, 100 * MB, 0))
    assert peak <= 436 * MB
    assert earlier == 0


@pytest.mark.parametrize("program", [FORKS_AND_EXECUTES], indirect=True)
def test_memory_shared_with_a_process_that_ends_while_it_is_measured_counts_once(program: Program) -> None:
    parent = program.process.pid
    (child,) = ProcessTreeMeter(parent).pids()
    meter = ProcessTreeMeter(parent)
    meter.roughly([parent, child])
    program.next()  # it executes another program
    assert 128 * MB <= meter.exactly([parent, child]) + meter.above < 200 * MB
    meter.roughly([parent, child])
    program.kill_uncollected(child)
    assert 64 * MB <= meter.exactly([parent, child]) + meter.above < 120 * MB


@pytest.mark.parametrize("program", [FORKS_AND_EXECUTES], indirect=True)
def test_process_that_executes_another_program_keeps_nothing_of_the_one_before(program: Program) -> None:
    parent = program.process.pid
    (child,) = ProcessTreeMeter(parent).pids()
    meter = ProcessTreeMeter(parent)
    meter.roughly([parent, child])
    assert 64 * MB <= meter.exactly([parent, child]) < 120 * MB
    assert not meter.is_due(4000 * MB)
    program.next()
    assert not meter.is_due(4000 * MB)
    meter.roughly([parent, child])
    assert meter.is_due(4000 * MB), "what they share is unknown"
    assert 128 * MB <= meter.exactly([parent, child]) < 200 * MB
    program.next()
    meter.roughly([parent, child])
    assert 250 * MB <= meter.above < 300 * MB  # the kernel may count pages in batches


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
