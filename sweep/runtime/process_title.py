"""The name and the command line of a process, as `ps` and `top` show them; every process, Linux."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_PR_SET_NAME = 15
# In /proc/PID/stat, counted from the field after the name.
_ARG_START = 45
_ENV_END = 48
_libc = ctypes.CDLL(None, use_errno=True)


def name_process(name: str) -> None:
    """Set the name of this process as `ps -o comm` and `top` show it; at most 15 characters."""
    _libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def show_command(command: str) -> None:
    """Replace the command line of this process as `ps` shows it, and remove the environment that `ps e` shows.

    For a forked process, which otherwise shows those of its parent. The kernel reads both from the memory of the
    process, and continues a command line that is longer than the original one in the environment (proc(5)). The
    variables must have been set by `os.environ` since the start of the process; then they are kept elsewhere.
    """
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end, environment, environment_end = (int(field) for field in fields[_ARG_START : _ENV_END + 1])
    if not start < end <= environment <= environment_end:
        return  # the kernel does not tell the addresses, and `ps` shows the parent's
    ctypes.memset(start, 0, end - start)
    ctypes.memset(environment, 0, environment_end - environment)
    if environment == end:
        end = environment_end
    content = os.fsencode(command)[: end - start - 1]
    ctypes.memmove(start, content, len(content))


def process_name(pid: int) -> str:
    """The name of a process, see `name_process`; "" if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
