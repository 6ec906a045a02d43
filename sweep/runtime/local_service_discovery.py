"""The service of a data directory on this machine, and whether it still runs; clients, the CLI and `podium doctor`.

A service that was killed leaves its service file. Its process id may belong to another process by now, but the kernel
has released the lock of its folder.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from pathlib import Path
from typing import Any

from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.process_liveness import is_running


def service_of_this_machine(root: Path) -> DataDirectory:
    """The data directory as the service of this machine sees it: one of several has a folder named after its host.

    If that one does not run, the service that has the root as its folder, if this one does.
    """
    named, only = DataDirectory(root, socket.gethostname()), DataDirectory(root)
    return named if named.service_file.exists() and (runs(named) or not runs(only)) else only


def runs(data: DataDirectory) -> bool:
    """Whether the service that wrote the service file runs on this machine."""
    try:
        about: dict[str, Any] = json.loads(data.service_file.read_text())
        return is_running(about.get("pid", os.getpid())) and not _is_free(data.service_lock)
    except (OSError, ValueError, AttributeError, TypeError):
        return False


def is_locked(path: Path) -> bool:
    """Whether a process holds this lock."""
    return path.exists() and not _is_free(path)


def _is_free(path: Path) -> bool:
    """Whether there is such a lock, and nobody holds it."""
    try:
        with path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (FileNotFoundError, BlockingIOError):
        return False
    return True
