"""What processes do, as the kernel of Linux counts it: processor time, connections, execution of programs; slot."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from podium.sweep.runtime.kernel_files import read_kernel_file
from podium.sweep.runtime.process_trees import descendants

_TICKS = os.sysconf("SC_CLK_TCK")
_ESTABLISHED = "01"


def has_ended(pid: int) -> bool:
    """Whether a process has ended, also if its parent has not collected it."""
    try:
        return _stat(pid)[0] == b"Z"
    except OSError:
        return True


def cpu_s(pid: int, *, collected: bool = False) -> float:
    """The processor time of a process, in seconds; 0 if it has ended. `collected`: with that of children it reaped."""
    try:
        fields = _stat(pid)
    except OSError:
        return 0.0
    return sum(map(int, fields[11 : 15 if collected else 13])) / _TICKS


def address_space(pid: int) -> int:
    """The address of the stack of a process, which the kernel chooses at random when a program is executed.

    0 if the process has ended or is ending, or is that of another user.
    """
    try:
        return int(_stat(pid)[25])
    except OSError:
        return 0


def _stat(pid: int) -> list[bytes]:
    """The fields after the name, which may have any bytes."""
    return read_kernel_file(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def has_connection(pid: int, port: int, ignored: int = 0) -> bool:
    """Whether a process, or one of its descendants, is connected to a TCP port.

    `ignored`: the number of such connections that do not count.
    """
    inodes = set(_connected_to(port))
    if not inodes:
        return False
    return sum(inode in inodes for each in (pid, *descendants(pid)) for inode in _sockets(each)) > ignored


def _connected_to(port: int) -> Iterator[str]:
    """The inodes of the connections of this machine to a remote port."""
    suffix = f":{port:04X}"
    for name in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{name}").read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[2].endswith(suffix) and fields[3] == _ESTABLISHED:
                yield fields[9]


def _sockets(pid: int) -> Iterator[str]:
    """The inodes of the sockets of a process."""
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208 - thousands of them
    except OSError:
        return
    for number in numbers:
        try:
            target = os.readlink(f"/proc/{pid}/fd/{number}")  # noqa: PTH115
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[len("socket:[") : -1]
