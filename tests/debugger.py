"""A debugger that is attached to a process, as `gdb` and `strace` are, and does nothing to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

# Attaches to the process named on the command line (PTRACE_SEIZE), lets it continue after each of its signals and
# stops, and detaches at its own end, at end-of-file on standard input.
_TRACER = """
import ctypes, os, select, signal, sys

SEIZE, CONT, LISTEN, STOP_EVENT = 0x4206, 7, 0x4208, 128
pid, libc = int(sys.argv[1]), ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
if libc.ptrace(SEIZE, pid, None, None) != 0:
    sys.exit(f"ptrace: {ctypes.get_errno()}")
print("attached", flush=True)
while not select.select([0], [], [], 0.02)[0]:
    stopped, status = os.waitpid(pid, os.WNOHANG)
    if stopped == 0:
        continue
    if not os.WIFSTOPPED(status):
        break
    number = os.WSTOPSIG(status)
    if status >> 16 == STOP_EVENT and number != signal.SIGTRAP:
        libc.ptrace(LISTEN, pid, None, None)  # it stays stopped until it gets SIGCONT
    else:
        libc.ptrace(CONT, pid, None, 0 if number == signal.SIGTRAP else number)
"""


@contextmanager
def attached_debugger(pid: int) -> Iterator[None]:
    """A debugger is attached to `pid` in the block; the test is skipped where the machine allows none."""
    with subprocess.Popen(
        [sys.executable, "-c", _TRACER, str(pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as tracer:
        assert tracer.stdout is not None
        if tracer.stdout.readline() != b"attached\n":
            pytest.skip("this machine allows no ptrace")
        try:
            yield
        finally:
            tracer.communicate(timeout=30)
