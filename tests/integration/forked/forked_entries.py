"""Entries for processes of the template, run by `test_process_template`."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path


def run_forked(arguments: Sequence[str], descriptors: Sequence[int], owner: int) -> int:
    """Does what the first argument says; writes to the first descriptor."""
    what, *rest = arguments
    return {"report": _report, "sleep": _sleep, "leave": _leave, "crash": _crash}[what](rest, descriptors, owner)


def _report(_: Sequence[str], descriptors: Sequence[int], owner: int) -> int:
    import torch

    sizes = torch.ones(400, 400) @ torch.ones(400, 400)  # hangs if threads were lost in the fork
    shown = list(Path("/proc/self/fd").iterdir())
    lines = [str(os.environ.get("COLOR")), str(len(os.environ)), str(sizes.shape[0]), str(len(shown)), str(owner)]
    os.write(descriptors[0], "\n".join(lines).encode())
    return 7


def _sleep(_: Sequence[str], descriptors: Sequence[int], owner: int) -> int:
    os.write(descriptors[0], b"asleep")
    time.sleep(600)
    return 0


def _leave(_: Sequence[str], descriptors: Sequence[int], owner: int) -> int:
    """Leave a daemon behind."""
    left = subprocess.Popen(["sleep", "600"], start_new_session=True)
    os.write(descriptors[0], str(left.pid).encode())
    return 0


def _crash(_: Sequence[str], descriptors: Sequence[int], owner: int) -> int:
    raise RuntimeError("as planned")
