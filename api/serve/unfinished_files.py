"""Unfinished files of writers that were killed, removed from beside what they were to become; `serve`, at its start."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from pathlib import Path

from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.service_state import lives

_UNFINISHED = re.compile(r"\.(\d+)\.tmp(-\w+)?$")  # the second: what SQLite has beside a copy that it makes
STILL_S = 3600.0


def remove(data: DataDirectory) -> None:
    """Remove unfinished files of the dead. What cannot be removed stays: it harms nobody.

    No service runs; of the living only a backup may be writing. A number may be another process's by now, so what
    was not touched for an hour goes too.
    """
    for folder in (data.root, data.bundles, data.data_cache, data.evaluations, data.backups):
        with contextlib.suppress(OSError):
            for path in list(folder.iterdir()):
                if _is_left(path):
                    _remove(path)


def _is_left(path: Path) -> bool:
    match = _UNFINISHED.search(path.name)
    if match is None:
        return False
    pid = int(match[1])
    with contextlib.suppress(OSError):
        return pid == os.getpid() or not lives(pid) or time.time() - path.lstat().st_mtime > STILL_S
    return False


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
