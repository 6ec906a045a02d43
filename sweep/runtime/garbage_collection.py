"""Collects garbage less often than Python by default, and not during imports; services, and processes that fork."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# A curve of 2,000 points is as many tuples. With Python's 700, each read would collect several times, a tenth of its
# time, and now and then everything, for which other requests wait, or all slots of the scheduler: about 0.1 s with
# 10,000 trials. Almost all objects are freed without a collection: by their last reference.
_THRESHOLDS = (50_000, 20, 50)  # objects; young collections before a middle one; middle ones before a full one


def collect_rarely() -> None:
    """Called once a component is ready: what exists is no longer examined, as a full collection over it takes 70 ms."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


@contextmanager
def without_collection() -> Iterator[None]:
    """For imports: no collection while they run, and none over what they have created.

    To import torch with its compiler takes 2.0 instead of 2.5 s, as the collections find 2 % of the objects. Later
    collections would copy memory that is shared with forked processes.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
