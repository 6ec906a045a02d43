"""While an ensemble is being built no weights are removed: a lock between processes; api, host and scheduler.

It goes with its process, however that ends.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from podium.sweep.runtime.layout import DataDirectory


@contextmanager
def building(data: DataDirectory) -> Iterator[None]:
    """What candidates there are now will be there until the end of this, or be members by then."""
    with data.weights_lock.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


@contextmanager
def nobody_builds(data: DataDirectory) -> Iterator[bool]:
    """Whether it is so; then it stays so until the end of this."""
    with data.weights_lock.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
