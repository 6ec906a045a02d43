"""Trials whose use of the machine is known."""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path
from typing import Any


def computes(trial: Any) -> float:
    while time.process_time() < 1.5:
        pass
    with Path("big").open("wb") as file:
        file.write(bytes(8 << 20))
        os.fsync(file.fileno())
    time.sleep(1.3)
    return 0.0


def grows(trial: Any) -> float:
    blocks = []
    while True:
        blocks.append(bytearray(b"x") * (4 << 20))
        time.sleep(0.02)


def allocates_between_samples(trial: Any) -> float:
    time.sleep(1.0)
    _allocate()
    time.sleep(1.5)
    return 0.0


def allocates_before_its_end(trial: Any) -> float:
    time.sleep(1.0)
    _allocate()
    return 0.0


def maps_a_file(trial: Any) -> float:
    """Map a file of 400 MB and read all of it, and unmap it after a sample."""
    import torch

    with (Path(torch.__file__).parent / "lib" / "libtorch_cpu.so").open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        sum(content[::4096])
        time.sleep(1.5)
        content.close()
    return 0.0


def _allocate() -> None:
    """Use 400 MB for a moment."""
    block = bytearray(b"x") * (400 << 20)
    del block


def ends(trial: Any) -> float:
    return 0.0
