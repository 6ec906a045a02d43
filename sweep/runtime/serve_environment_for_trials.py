"""The environment of `podium serve`, for the programs of trials; slot.

Ray sets about a dozen variables in its workers (PYTHONBREAKPOINT, OMP_NUM_THREADS, RAY_JOB_ID, …), and Podium sets some
for Ray (PYTHONSAFEPATH); both lists change between releases. A trial's environment is therefore not derived from its
slot's, but from that of `podium serve`, which the kernel preserves as it was at the start of the process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from podium.sweep.runtime.component_startup_and_heartbeats import PARENT_PID

# In the environment of the service, or of a node, whose trials do not get the credentials of the object store.
WITHHOLD_CREDENTIALS = "PODIUM_WITHHOLD_CREDENTIALS"
# The prefixes of the variables from which the packages of fsspec read them.
STORE_CREDENTIALS = ("AWS_", "AZURE_", "FSSPEC_", "GOOGLE_")
# Tokens of Podium, and of a Ray cluster of the user.
_WITHHELD = ("PODIUM_", "RAY_AUTH_")
# In a worker of a Ray that `podium serve` has not started: what Ray sets there for itself.
_SET_BY_RAY = ("RAY_", "PODIUM_", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "PYTHONBREAKPOINT")


def user_environment() -> dict[str, str]:
    """The environment variables of `podium serve` without tokens, and with an object store without its credentials.

    On a node of an existing Ray cluster, and in tests, those of this process without what Ray has set. Raises
    `OSError` if `podium serve` has ended; this process then ends as well.
    """
    serve = os.environ.get(PARENT_PID)
    credentials = STORE_CREDENTIALS if WITHHOLD_CREDENTIALS in os.environ else ()
    if serve is None:
        return _without(without_ray(os.environ), credentials)
    return _without(_parsed(Path("/proc", serve, "environ").read_bytes()), (*_WITHHELD, *credentials))


def without_ray(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker of Ray without what Ray has set for itself."""
    return _without(variables, _SET_BY_RAY)


def _parsed(content: bytes) -> dict[str, str]:
    """Parses `/proc/PID/environ`: NUL-terminated `NAME=value` entries."""
    pairs = (os.fsdecode(entry).partition("=") for entry in content.split(b"\0"))
    return {name: value for name, separator, value in pairs if name and separator}


def _without(variables: Mapping[str, str], prefixes: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if not name.startswith(prefixes)}
