"""Takes a secret out of the environment of a process, before it starts others; the `podium serve` process."""

from __future__ import annotations

import ctypes
import os

_libc = ctypes.CDLL(None)
_libc.getenv.restype = ctypes.c_void_p


def withdraw(name: str) -> str:
    """Remove an environment variable of this process, and return its value, "" without one.

    The kernel shows the initial environment of a process to others of its user, from the memory of the process
    (`/proc/PID/environ`, `ps e`), and that of its parent for a forked one. The value is overwritten there as well.
    """
    value = os.environ.get(name, "")
    address = _libc.getenv(os.fsencode(name))
    if address:
        ctypes.memset(address, 0, len(os.fsencode(value)))
    os.environ.pop(name, None)
    return value
