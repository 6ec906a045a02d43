"""Fetches files from the object store into the data directory of the head, each once; nodes process."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from podium.sweep.file_store.local_store import LocalFileStore
from podium.sweep.file_store.object_store import ObjectFileStore
from podium.sweep.file_store.validated_file_keys import attempt_folder, is_checkpoint, newest_checkpoint
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DamagedFileError

MAX_HEADER_BYTES = 16 << 20
_LENGTH_BYTES = 8  # of the length of a safetensors header


class ArtifactCache:
    """The data directory as a cache of the object store. Thread-safe.

    All methods raise `FileStoreError`, and `BadRequestError` for a key that names no file of an attempt.
    """

    def __init__(self, store: ObjectFileStore, data: DataDirectory) -> None:
        self._store = store
        self._local = LocalFileStore(data.root)
        self._lock = threading.Lock()
        self._locks: dict[str, list[threading.Lock]] = {}  # by key, one entry for each request that uses it

    def fetch(self, key: str) -> None:
        """Write a file to its place, unless it is there. Raises `MissingFileError`."""
        path = self._local.path(key)
        with self._only_one(key):
            if not path.exists():
                self._store.get(key, path)

    def fetch_checkpoints(self, prefix: str, before: int) -> None:
        """Fetch the checkpoint of the newest attempt of a trial before the attempt `before`, if there is one."""
        for key in newest_checkpoint((each.key for each in self._store.list(prefix)), before):
            self.fetch(key)

    def header(self, key: str) -> dict[str, str]:
        """The metadata of a safetensors file, without the rest of the file. Raises `MissingFileError`."""
        length = int.from_bytes(self._store.read(key, 0, _LENGTH_BYTES), "little")
        if length > MAX_HEADER_BYTES:
            raise DamagedFileError(f"{key} has a header of {length} bytes")
        try:
            content = json.loads(self._store.read(key, _LENGTH_BYTES, _LENGTH_BYTES + length))
            return {str(name): str(value) for name, value in content.get("__metadata__", {}).items()}
        except (ValueError, AttributeError) as error:
            raise DamagedFileError(f"{key} has no header of a safetensors file") from error

    def files(self, prefix: str) -> dict[str, tuple[int, str]]:
        """Size and SHA-256 of the stored files of a trial, by key."""
        return {each.key: (each.size_bytes, each.sha256) for each in self._store.find(prefix)}

    def remove(self, below: Iterable[str]) -> None:
        """Remove these files, and the files in these folders, from the store."""
        by_trial: dict[str, list[str]] = {}
        for path in below:
            sweep_id, number, _ = attempt_folder(path)
            by_trial.setdefault(f"trials/{sweep_id}/{number}/", []).append(path)
        for prefix, paths in by_trial.items():
            folders = tuple(f"{path}/" for path in paths)
            keys = [each.key for each in self._store.list(prefix)]
            self._store.remove([key for key in keys if key in paths or key.startswith(folders)])

    def remove_checkpoints(self, prefix: str) -> None:
        """Remove the checkpoints of all attempts of a trial from the store."""
        self._store.remove([each.key for each in self._store.list(prefix) if is_checkpoint(each.key)])

    @contextmanager
    def _only_one(self, key: str) -> Iterator[None]:
        """Requests for a file that is being fetched wait for it."""
        with self._lock:
            uses = self._locks.setdefault(key, [])
            lock = uses[0] if uses else threading.Lock()
            uses.append(lock)
        try:
            with lock:
                yield
        finally:
            with self._lock:
                uses.pop()
                if not uses:
                    self._locks.pop(key, None)
