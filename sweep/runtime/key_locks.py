"""One lock for each key, so that several threads do the same work once and different work at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class KeyLocks:
    """Locks that are made when they are needed, and kept. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    @contextmanager
    def only_one(self, key: str) -> Iterator[None]:
        """Wait until no other thread holds this key, and hold it."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            yield
