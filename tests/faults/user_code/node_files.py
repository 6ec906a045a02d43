"""The files of a trial: their content follows from its seed, so all attempts of a trial write the same."""

from __future__ import annotations

import hashlib
import random
import tempfile
from pathlib import Path
from typing import Any

LARGE = 9 << 20  # three parts of an upload
SIZES = {"small.bin": 1_000, "medium.bin": 400_000}


def write_files(trial: Any) -> None:
    """Save the files as artifacts, and their SHA-256 as attributes of the trial."""
    sizes = {**SIZES, "large.bin": LARGE} if trial.number % 6 == 0 else SIZES
    for name, size in sizes.items():
        content = random.Random(f"{trial.seed} {name}").randbytes(size)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.write_bytes(content)
            trial.save_artifact(path)
        trial.set_user_attr(f"sha256 {name}", hashlib.sha256(content).hexdigest())
