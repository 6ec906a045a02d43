"""The seed of a trial, the same for each of its attempts; every process."""

from __future__ import annotations

import hashlib


def trial_seed(sweep_seed: int, number: int) -> int:
    """The seed of the trial with this number."""
    digest = hashlib.sha256(f"trial:{sweep_seed}:{number}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
