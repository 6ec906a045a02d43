"""Fetches the code, the data and the checkpoints of attempts from the head, each once per node; node agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from podium.sweep.data.data_cache import get_or_build
from podium.sweep.data.memory_mapped_datasets import cache_folder
from podium.sweep.file_store.file_store_interface import FileStore
from podium.sweep.file_store.validated_file_keys import attempt_folder, newest_checkpoint
from podium.sweep.runtime.attempt_directory import AttemptDirectory, attempt_of_folder
from podium.sweep.runtime.key_locks import KeyLocks
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.specfile import code_bundles
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.errors import BundleError, DamagedFileError, MissingFileError

DatasetKeys = Callable[[int], list[str]]


class FileDownloads:
    """What attempts need, in the data directory of the node. Thread-safe."""

    def __init__(self, store: FileStore, data: DataDirectory, dataset_keys: DatasetKeys) -> None:
        """`dataset_keys` returns the keys of the arrays of a sweep, which the head has prepared."""
        self._store = store
        self._data = data
        self._dataset_keys = dataset_keys
        self._locks = KeyLocks()  # several attempts that need the same files fetch them once

    def fetch(self, assignment: Assignment) -> None:
        """Fetch what is missing here. Raises `FileStoreError`, `BundleError`, `DataError` and `OSError`."""
        if assignment.code is not None:
            self.fetch_code(Path(assignment.code))
        data = assignment.program.get("data")
        if data is not None and data.get("source"):  # others are part of a library
            self._fetch_data(assignment.sweep_id, data)
        first = 1 if assignment.interval is None else assignment.interval.first_attempt
        found = assignment.attempt > first and self._fetch_checkpoints(assignment, first)
        if not found and assignment.interval is not None and assignment.interval.checkpoint is not None:
            self._fetch_start(AttemptDirectory(Path(assignment.directory)), Path(assignment.interval.checkpoint))

    def fetch_code(self, folder: Path) -> None:
        """Fetch the bundle of this folder. Raises `FileStoreError`, `BundleError` and `OSError`."""
        with self._locks.only_one(folder.name):
            if folder.exists():
                return
            archive = self._data.bundle_archive(folder.name)
            if not archive.exists():
                self._fetch_archive(archive)
            if sha256_of(archive) != folder.name:
                archive.unlink()
                raise DamagedFileError(f"the code bundle {folder.name} arrived with another content")
            code_bundles.unpack(archive.read_bytes(), folder)

    def _fetch_archive(self, archive: Path) -> None:
        try:
            self._store.get(self._data.relative(archive), archive)
        except MissingFileError:
            raise BundleError(
                "the head has no archive of the code, which was uploaded to an earlier version; submit the sweep again"
            ) from None

    def _fetch_data(self, sweep_id: int, data: Mapping[str, Any]) -> None:
        folder = cache_folder(data, self._data.data_cache)

        def fetch(to: Path) -> None:
            for key in self._dataset_keys(sweep_id):
                if Path(key).parent.name != folder.name:
                    raise DamagedFileError(f"the head prepared {key}, but this node needs {folder.name}")
                self._store.get(key, to / Path(key).name)

        get_or_build(folder, fetch)

    def _fetch_checkpoints(self, assignment: Assignment, first: int) -> bool:
        """Those of the newest attempt with a complete one; whether there is one. The file that makes a folder valid
        arrives last.
        """
        keys = newest_checkpoint(self._keys_of_trial(Path(assignment.directory)), assignment.attempt, first)
        for key in keys:
            path = self._data.root / key
            if not path.exists():  # the attempt ran on this node
                self._store.get(key, path)
        return bool(keys)

    def _fetch_start(self, directory: AttemptDirectory, folder: Path) -> None:
        """The checkpoint of another attempt, often of another trial, into the folder of the attempt that starts there.

        Its own folder may be removed on this node at any time.
        """
        number, _ = attempt_of_folder(folder.name)
        own = [key for key in self._keys_of_trial(folder) if attempt_folder(key)[2] == folder.name]
        keys = newest_checkpoint(own, number + 1)
        if not keys:
            raise MissingFileError(f"{self._data.relative(folder)} has no checkpoint on the head")
        for key in keys:
            self._store.get(key, directory.start.root / (self._data.root / key).relative_to(folder))

    def _keys_of_trial(self, folder: Path) -> list[str]:
        """The keys of the files of all attempts of a trial, by the folder of one of them."""
        return [each.key for each in self._store.list(f"{Path(self._data.relative(folder)).parent}/")]
