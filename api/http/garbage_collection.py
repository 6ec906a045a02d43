"""Collects garbage less often than Python by default, which takes a tenth of the time of reads; api and gateway."""

from __future__ import annotations

import gc

# A curve of 2,000 points is as many tuples. With Python's 700, each read would collect several times, and now and then
# everything, for which other requests wait. Almost all objects are freed without a collection: by their last reference.
_THRESHOLDS = (50_000, 20, 50)  # objects; young collections before a middle one; middle ones before a full one


def collect_rarely() -> None:
    """Called once the app is built: what exists is no longer examined, as a full collection over it takes 70 ms."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
