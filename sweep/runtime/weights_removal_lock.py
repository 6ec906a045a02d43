"""A file lock that prevents the removal of weights while an ensemble is built; api, host and scheduler.

The kernel releases it when its process ends.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from podium.sweep.runtime.layout import DataDirectory


@contextmanager
def hold_weights(data: DataDirectory) -> Iterator[None]:
    """A shared lock: the weights of candidates are not removed within the block."""
    with data.weights_lock.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


@contextmanager
def try_lock_weights(data: DataDirectory) -> Iterator[bool]:
    """Tries to take the exclusive lock; yields whether it is held, that is, no ensemble is being built."""
    with data.weights_lock.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
