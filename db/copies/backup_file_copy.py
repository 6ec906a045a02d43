"""Copies files of a service into a backup, one after another; the process of `podium backup`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from podium.db.copies.backup_manifest import BackedUpFile, RemovedFile
from podium.db.copies.backup_repository import BackupRepository, Stored
from podium.db.copies.snapshot_file_list import NamedFile, removal_of
from podium.db.schema.database import Database
from podium.sweep.file_store import object_store_fetch_client
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DamagedFileError, FileStoreError

SAY_EVERY_S = 2.0


class BackupFiles:
    """What a snapshot gets, what the service has removed meanwhile, and what is missing or damaged in the service."""

    def __init__(
        self,
        data: DataDirectory,
        repository: BackupRepository,
        live: Database,
        spool: Path,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`live`: the database of the service, which says what was removed. `spool`: a folder for copies."""
        self._data = data
        self._repository = repository
        self._live = live
        self._spool = spool
        self._say = say
        self._said_s = time.monotonic()
        self.files: dict[str, BackedUpFile] = {}  # by key
        self.copied_bytes: list[int] = []  # of each content that the backup did not have
        self.removed: list[RemovedFile] = []
        self.problems: list[str] = []

    def add_named(self, file: NamedFile) -> None:
        """A file whose content the database knows. Raises `FileStoreError` if the backup cannot be written."""
        if self._repository.has(file.sha256, file.size_bytes):
            self._done(Stored(BackedUpFile(file.key, file.sha256, file.size_bytes), is_new=False))
            return
        path = self._data.root / file.key
        try:
            object_store_fetch_client.ensure(self._data, path)
        except FileStoreError as error:
            self.problems.append(f"{file.key} cannot be read: {error}")
            return
        try:
            self._done(self._repository.add(path, file.key, self._spool, expected=file.sha256))
        except FileNotFoundError:
            self._missing(file)
        except DamagedFileError as error:
            self.problems.append(str(error))
        except OSError as error:
            self.problems.append(f"{file.key} cannot be read: {error.strerror}")

    def add_other(self, path: Path) -> None:
        """Another file; one that is gone is left out. Raises `FileStoreError` if the backup cannot be written."""
        key = self._data.relative(path)
        if key in self.files:
            return
        try:
            self._done(self._repository.add(path, key, self._spool))
        except FileNotFoundError:
            return
        except OSError as error:
            self.problems.append(f"{key} cannot be read: {error.strerror}")

    def _done(self, stored: Stored) -> None:
        self.files[stored.file.key] = stored.file
        if stored.is_new:
            self.copied_bytes.append(stored.file.size_bytes)
        if time.monotonic() - self._said_s > SAY_EVERY_S:
            self._said_s = time.monotonic()
            self._say(f"{len(self.files):,} files, {len(self.copied_bytes):,} of them copied")

    def _missing(self, file: NamedFile) -> None:
        with self._live.read() as connection:
            removed = removal_of(connection, file)
        if removed is None:
            self.problems.append(f"{file.key} is missing")
        else:
            self.removed.append(removed)
