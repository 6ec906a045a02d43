"""Uploads in parts, which continue where a broken connection or a restart of the head has ended them; node service."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from podium.sweep.file_store.local_store import LocalFileStore
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.values.errors import ConflictError, DamagedFileError

CLEANING_S = 3600.0  # between two searches for such uploads
STALE_S = 86400.0  # an upload without a new part for so long is removed


@dataclass(frozen=True, slots=True)
class Upload:
    """A file on its way to the store."""

    key: str
    size_bytes: int
    sha256: str


class OffsetError(ConflictError):
    """A part does not continue what has been received."""

    def __init__(self, received: int) -> None:
        super().__init__(f"{received} bytes have been received; continue there")
        self.received = received


class ResumableUploads:
    """Files that have been received in part. Thread-safe."""

    def __init__(self, store: LocalFileStore, folder: Path) -> None:
        """`folder` holds what has been received. Parts without an upload for a day are removed."""
        self._store = store
        self._folder = folder
        self._lock = threading.Lock()
        self._locks: dict[Path, threading.Lock] = {}
        folder.mkdir(mode=0o700, exist_ok=True)
        self._remove_stale()

    def add(self, upload: Upload, offset: int, content: bytes) -> int:
        """Append a part; returns the number of bytes received. The last part stores the file.

        Raises `OffsetError` if `offset` is not the number of bytes received, `DamagedFileError` if the complete file
        has another SHA-256 (then the upload begins again), `BadRequestError` for an invalid key, and `OSError`.
        """
        target = self._store.path(upload.key)
        name = hashlib.sha256(f"{upload.key}\0{upload.size_bytes}\0{upload.sha256}".encode()).hexdigest()
        partial = self._folder / name[:40]
        with self._lock_of(partial):
            received = partial.stat().st_size if partial.exists() else 0
            if offset == 0 and received == 0 and _has_content(target, upload):
                return upload.size_bytes  # only the response was lost
            if offset != received:
                raise OffsetError(received)
            if received == 0 and time.monotonic() - self._cleaned_s > CLEANING_S:
                self._remove_stale()
            with partial.open("ab") as file:
                file.write(content)
                received += len(content)
                if received >= upload.size_bytes:
                    file.flush()
                    os.fsync(file.fileno())
            if received >= upload.size_bytes:
                self._finish(upload, partial, target)
            return received

    def _remove_stale(self) -> None:
        self._cleaned_s = time.monotonic()
        for left in self._folder.iterdir():
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime > STALE_S:
                    left.unlink()

    def _finish(self, upload: Upload, partial: Path, target: Path) -> None:
        if partial.stat().st_size != upload.size_bytes or sha256_of(partial) != upload.sha256:
            partial.unlink()
            raise DamagedFileError(f"{upload.key} arrived with another content than its SHA-256 says; send it again")
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.replace(target)
        with self._lock:
            self._locks.pop(partial, None)

    def _lock_of(self, partial: Path) -> threading.Lock:
        with self._lock:
            return self._locks.setdefault(partial, threading.Lock())


def _has_content(path: Path, upload: Upload) -> bool:
    with contextlib.suppress(OSError):
        return path.stat().st_size == upload.size_bytes and sha256_of(path) == upload.sha256
    return False
