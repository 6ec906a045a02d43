"""Removes temporary files left by writers that were killed; `podium serve`, at start."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from pathlib import Path

from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.process_liveness import is_running

_UNFINISHED = re.compile(r"\.(\d+)\.tmp(-\w+)?$")  # second group: SQLite's files of a copy
STALE_S = 3600.0


def remove(data: DataDirectory) -> None:
    """Remove temporary files of processes that no longer run. Files that cannot be removed are ignored.

    No service runs, so only a backup may be writing. Process ids are reused, so files unchanged for an hour are removed
    too.
    """
    for folder in (data.root, data.bundles, data.data_cache, data.evaluations, data.backups):
        with contextlib.suppress(OSError):
            for path in list(folder.iterdir()):
                if _is_stale(path):
                    _remove(path)


def _is_stale(path: Path) -> bool:
    match = _UNFINISHED.search(path.name)
    if match is None:
        return False
    pid = int(match[1])
    with contextlib.suppress(OSError):
        return pid == os.getpid() or not is_running(pid) or time.time() - path.lstat().st_mtime > STALE_S
    return False


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
