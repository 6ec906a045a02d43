"""Fetches model files from the head, each once, and keeps the newest; node agent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from podium.ensemble.building import saved_trial_outputs
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.sweep.runtime.key_locks import KeyLocks
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.values.errors import EnsembleError

MAX_KEPT_BYTES = 8 << 30


class MemberFiles:
    """Model files by their hash, and the code of users' networks. Thread-safe."""

    def __init__(
        self, fetch: Callable[[str, Path], None], data: DataDirectory, fetch_code: Callable[[Path], None], *,
        max_kept_bytes: int = MAX_KEPT_BYTES,
    ) -> None:  # fmt: skip
        """`fetch` writes a stored file to a path; `fetch_code` fetches the code bundle of a folder."""
        self._fetch = fetch
        self._data = data
        self._fetch_code = fetch_code
        self._max_kept_bytes = max_kept_bytes
        self._locks = KeyLocks()  # several members that need the same file fetch it once
        self._lock = threading.Lock()  # of the removal of files
        data.models.mkdir(mode=0o700, exist_ok=True)

    def fetch(self, file: ModelFile) -> ModelFile:
        """The file on this machine; `file.path` is its key in the store.

        Raises `EnsembleError` if the head has another file, `FileStoreError`, `BundleError` and `OSError`.
        """
        with self._locks.only_one(file.sha256):
            path = self._data.model(file.sha256)
            with self._lock:
                if is_kept := path.exists():
                    path.touch()
                else:
                    self._make_room()
            if not is_kept:
                self._fetch(file.path, path)
        if sha256_of(path) != file.sha256:
            path.unlink(missing_ok=True)
            raise EnsembleError(f"{file.path} is damaged: its SHA-256 is not the one that was recorded")
        bundle = saved_trial_outputs.read_architecture(path).bundle
        if bundle is not None:
            self._fetch_code(self._data.bundle(bundle))
        return replace(file, path=str(path), data_dir=str(self._data.root))

    def _make_room(self) -> None:
        """Remove those that were used least recently. Workers have read theirs completely."""
        kept_bytes = 0
        complete = [path for path in self._data.models.iterdir() if not path.name.startswith(".")]
        for path in sorted(complete, key=_used_at, reverse=True):
            kept_bytes += path.stat().st_size
            if kept_bytes > self._max_kept_bytes:
                path.unlink(missing_ok=True)


def _used_at(path: Path) -> float:
    return path.stat().st_mtime
