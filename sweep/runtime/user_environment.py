"""The environment that `podium serve` was started in, for programs of trials; slot.

Ray sets a dozen variables in its workers (PYTHONBREAKPOINT, OMP_NUM_THREADS, RAY_JOB_ID, …), Podium sets some for Ray
(PYTHONSAFEPATH), and both change from release to release. So the environment of a trial is not that of its slot without
a list of names. It is that of `podium serve`, which the kernel keeps as it was when the process started.
"""

from __future__ import annotations

import os
from pathlib import Path

from podium.sweep.runtime.component import PARENT_PID

# Tokens: of Podium, and of a Ray cluster that the user may have elsewhere.
_WITHHELD = ("PODIUM_", "RAY_AUTH_")
# Of a slot without `podium serve`, as in tests: everything that may be Ray's.
_WITHHELD_FROM_OWN = ("PODIUM_", "RAY_")


def user_environment() -> dict[str, str]:
    """The variables of `podium serve` as its user set them, without tokens.

    Raises `OSError` when `podium serve` is no more: then this process ends as well.
    """
    serve = os.environ.get(PARENT_PID)
    if serve is None:
        return _without(os.environ.copy(), _WITHHELD_FROM_OWN)
    return _without(_parsed(Path("/proc", serve, "environ").read_bytes()), _WITHHELD)


def _parsed(content: bytes) -> dict[str, str]:
    """The variables in the format of `/proc/PID/environ`: `NAME=value`, each ended by a NUL."""
    pairs = (os.fsdecode(entry).partition("=") for entry in content.split(b"\0"))
    return {name: value for name, separator, value in pairs if name and separator}


def _without(variables: dict[str, str], prefixes: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if not name.startswith(prefixes)}
