"""Suspends that this process adopts orphans, for a process that must outlive a test."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37
_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def not_subreaper() -> Iterator[None]:
    """Orphans of this process become children of init in the `with` block."""
    before = ctypes.c_int()
    _libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    try:
        yield
    finally:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)
