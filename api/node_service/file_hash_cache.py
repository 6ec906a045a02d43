"""Hashes of files that nodes read, computed once for each state of a file; nodes process."""

from __future__ import annotations

import threading
from pathlib import Path

from podium.sweep.runtime.safe_file_reads import sha256_of

MAX_FILES = 10_000
_State = tuple[int, int, int]  # inode, modification time and size


class FileHashes:
    """SHA-256 by path. A file whose hash takes long is read once, however often a node asks. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[Path, threading.Lock] = {}
        self._known: dict[Path, tuple[_State, str]] = {}

    def sha256(self, path: Path) -> str:
        """The hash of a file, in hexadecimal. Raises `OSError`."""
        with self._lock:
            lock = self._locks.setdefault(path, threading.Lock())
        with lock:
            status = path.lstat()
            state = (status.st_ino, status.st_mtime_ns, status.st_size)
            known = self._known.get(path)
            if known is not None and known[0] == state:
                return known[1]
            found = sha256_of(path)
            with self._lock:
                if len(self._known) >= MAX_FILES:
                    self._known.clear()
                    self._locks.clear()
                self._known[path] = state, found
            return found
