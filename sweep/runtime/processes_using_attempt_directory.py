"""The processes of a machine that use the folder of an attempt; node agent and `podium doctor`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def attempt_processes(trials: Path) -> Iterator[tuple[int, str]]:
    """The ids of these processes, each with the folder of its attempt relative to `trials`."""
    root = f"{trials.resolve()}/"
    for pid in (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        for path in _held(pid):
            if path.startswith(root):
                yield pid, "/".join(path[len(root) :].removesuffix(" (deleted)").split("/")[:3])
                break


def _held(pid: int) -> Iterator[str]:
    """The paths that a process got from its attempt: working directory, standard output and error, and TMPDIR at its
    start.

    Empty without permission to read them.
    """
    for link in ("cwd", "fd/1", "fd/2"):
        try:
            yield str(Path(f"/proc/{pid}/{link}").readlink())
        except OSError:
            continue
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return
    yield from (os.fsdecode(found.removeprefix(b"TMPDIR=")) for found in variables if found.startswith(b"TMPDIR="))
