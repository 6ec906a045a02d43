"""Sizes of memory in MB of 2^20 bytes, as in the `limits` of sweep files; every process."""

from __future__ import annotations

MB = 1 << 20


def megabytes(size_bytes: int | None) -> float | None:
    """A size with one decimal; None if it is unknown."""
    return None if size_bytes is None else round(size_bytes / MB, 1)
