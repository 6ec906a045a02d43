"""The interface of file stores; node service and node agent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in a store."""

    key: str
    size_bytes: int


class FileStore(Protocol):
    """Files by key. All methods raise `FileStoreError` if the store cannot be used, and `BadRequestError` for a key
    that names no file of a store.
    """

    def put(self, key: str, path: Path, sha256: str) -> None:
        """Store a copy of a file. It appears complete; it replaces a file with this key.

        Raises `DamagedFileError` if the content has another SHA-256.
        """

    def get(self, key: str, path: Path) -> None:
        """Write a stored file to `path`, complete, with missing folders. Raises `MissingFileError`."""

    def read(self, key: str, start: int, end: int) -> bytes:
        """The bytes from `start` up to, not including, `end`; fewer at the end of the file.

        Raises `MissingFileError`.
        """

    def remove(self, keys: Iterable[str]) -> None:
        """Remove files; those that are missing are skipped."""

    def list(self, prefix: str) -> Sequence[StoredFile]:
        """The files of a trial, `prefix` being `trials/SWEEP/NUMBER/`, by key. Temporary files are omitted."""


def never() -> bool:
    """Send a file to its end."""
    return False
