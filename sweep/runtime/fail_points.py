"""Fail points: named places where fault-injection tests kill a process, such as before a commit; every process.

They are disabled unless `PODIUM_FAIL_POINTS` names a folder when the process starts. A file in it with the name of a
fail point arms it. The file contains the number of passes to wait for; the process that makes the last pass removes the
file and kills itself with SIGKILL, as in a power failure. A fail point fires once, so that the restarted process
survives.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Literal

VARIABLE = "PODIUM_FAIL_POINTS"

_FOLDER = os.environ.get(VARIABLE)
# The name of this process, which its fail points around a commit have as a prefix. A global, while other state has an
# owner: a commit in any store of the process reaches it, and only fault injection reads it.
_component = ""

POINTS = (
    "api.before-commit",
    "api.after-commit",
    "scheduler.before-commit",
    "scheduler.after-commit",
    "host.before-commit",
    "host.after-commit",
    "copy.before-commit",
    "copy.after-commit",
    "migrate.before-commit",
    "migrate.after-commit",
    "scheduler.before-send",
    "scheduler.after-send",
    "release.before-write",
    "release.after-write",
    "retention.before-removal",
    "retention.after-removal",
    "slot.before-fork",
    "slot.after-fork",
    "slot.before-ended",
    "fork-server.before-fork",
    "fork-server.after-fork",
    "attempt.after-outcome",
    "serve.before-ray",
    "serve.before-api",
    "serve.before-gateway",
    "serve.before-scheduler",
    "serve.before-host",
)


def fail_point(name: str) -> None:
    """A fail point: kills this process if a test has armed `name`."""
    if _FOLDER is not None:
        _pass(Path(_FOLDER, name))


def commit_point(moment: Literal["before", "after"]) -> str:
    """The fail point before or after a commit of this process."""
    return f"{_component}.{moment}-commit"


def name_component(name: str) -> None:
    """Set the name of this process. A forked process replaces the name of its parent."""
    global _component
    _component = name


def variable() -> dict[str, str]:
    """The variable that enables fail points in a process; empty if they are disabled."""
    return {} if _FOLDER is None else {VARIABLE: _FOLDER}


def _pass(armed: Path) -> None:
    try:
        left = int(armed.read_text()) - 1
        if left > 0:
            armed.write_text(str(left))
            return
        armed.unlink()  # only one of several concurrent processes succeeds
    except (FileNotFoundError, ValueError):
        return
    os.kill(os.getpid(), signal.SIGKILL)
