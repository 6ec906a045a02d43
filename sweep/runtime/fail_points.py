"""Named places where a test may have a process killed: before and after each commit and each hand-over; every process.

Nothing happens unless `PODIUM_FAIL_POINTS` names a folder when the process starts. Then a file there, named as the
place, arms it: the file holds how many passings to wait for, and the process that makes the last of them removes the
file and kills itself with SIGKILL, as a power failure would. Once only, so that what is started in its place lives.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

VARIABLE = "PODIUM_FAIL_POINTS"


PROCESSES = {  # by the module that `python -m` started
    "podium.api.rest.main": "api",
    "podium.sweep.scheduling.main": "scheduler",
    "podium.ensemble.host.main": "host",
    "podium.db.schema.migrate": "migrate",
}


def _process() -> str:
    """The name of this process in the names of its fail points; "" where it has none."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return "" if spec is None else PROCESSES.get(str(spec.name), "")


_FOLDER = os.environ.get(VARIABLE)
BEFORE_COMMIT = f"{_process()}.before-commit"
AFTER_COMMIT = f"{_process()}.after-commit"

POINTS = (
    "api.before-commit",
    "api.after-commit",
    "scheduler.before-commit",
    "scheduler.after-commit",
    "host.before-commit",
    "host.after-commit",
    "migrate.before-commit",
    "migrate.after-commit",
    "scheduler.before-send",
    "scheduler.after-send",
    "keeping.before-removal",
    "keeping.after-removal",
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


def passing(name: str) -> None:
    """This process is at the place `name`, and dies here if a test wants it to."""
    if _FOLDER is not None:
        _pass(Path(_FOLDER, name))


def for_fork_server() -> dict[str, str]:
    """The variable, for a process that is given an environment without it; it must `hide` it from user code."""
    return {} if _FOLDER is None else {VARIABLE: _FOLDER}


def hide() -> None:
    """Take the variable out of the environment: who is forked or started from here does not see it."""
    os.environ.pop(VARIABLE, None)


def _pass(armed: Path) -> None:
    try:
        left = int(armed.read_text()) - 1
        if left > 0:
            armed.write_text(str(left))
            return
        armed.unlink()  # only one of those who pass at the same moment can
    except (FileNotFoundError, ValueError):
        return
    os.kill(os.getpid(), signal.SIGKILL)
