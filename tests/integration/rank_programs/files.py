"""Files by which ranks wait for each other; the ranks of a test."""

from __future__ import annotations

import time
from pathlib import Path

WAIT_S = 60.0


def wait_for(file: Path) -> None:
    """Until the file exists. Raises `TimeoutError` after a minute."""
    until = time.monotonic() + WAIT_S
    while not file.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"{file} does not exist after {WAIT_S:g} s")
        time.sleep(0.01)
