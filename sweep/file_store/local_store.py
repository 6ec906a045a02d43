"""The file store of the machine that has the files: the data directory itself; node service.

A file that lies at its place already is not copied: the folder of an attempt is its store.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from podium.sweep.file_store.file_store_interface import StoredFile
from podium.sweep.file_store.validated_file_keys import checked, checked_prefix
from podium.sweep.runtime.atomic_files import is_temporary, open_atomic
from podium.sweep.runtime.safe_file_reads import open_regular, sha256_of
from podium.sweep.values.errors import BadRequestError, DamagedFileError, FileStoreError, MissingFileError


class LocalFileStore:
    """See `podium.sweep.file_store.file_store_interface.FileStore`."""

    def __init__(self, root: Path) -> None:
        """`root` is the data directory."""
        self._root = root.resolve()

    def put(self, key: str, path: Path, sha256: str) -> None:
        target = self.path(key)
        try:
            if sha256_of(path) != sha256:
                raise DamagedFileError(f"{key} has another SHA-256 than {sha256}")
            if not _is_same(path, target):
                _copy(path, target)
        except OSError as error:
            raise FileStoreError(f"cannot store {key}: {error.strerror}") from error

    def get(self, key: str, path: Path) -> None:
        source = self._existing(key)
        try:
            if not _is_same(source, path):
                _copy(source, path)
        except OSError as error:
            raise FileStoreError(f"cannot copy {key}: {error.strerror}") from error

    def read(self, key: str, start: int, end: int) -> bytes:
        try:
            with open_regular(self._existing(key)) as file:
                file.seek(start)
                return file.read(max(0, end - start))
        except OSError as error:
            raise FileStoreError(f"cannot read {key}: {error.strerror}") from error

    def remove(self, keys: Iterable[str]) -> None:
        for path in [self.path(key) for key in keys]:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise FileStoreError(f"cannot remove {path}: {error.strerror}") from error
            with contextlib.suppress(OSError):  # a folder that is not empty stays
                _remove_empty(path.parent, self._root / "trials")

    def list(self, prefix: str) -> Sequence[StoredFile]:
        folder = self._root / checked_prefix(prefix)
        found = []
        for parent, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if not is_temporary(name)]
            for path in (Path(parent, name) for name in names if not is_temporary(name)):
                with contextlib.suppress(FileNotFoundError):  # replaced meanwhile
                    status = path.lstat()
                    found.append(StoredFile(str(path.relative_to(self._root)), status.st_size))
        return sorted(found, key=lambda each: each.key)

    def path(self, key: str) -> Path:
        """The path of a key, below the data directory. Raises `BadRequestError`, also if a link leads elsewhere."""
        path = self._root / checked(key)
        if not path.parent.resolve().is_relative_to(self._root) or path.is_symlink():
            raise BadRequestError(f"{key!r} leads out of the data directory")
        return path

    def _existing(self, key: str) -> Path:
        path = self.path(key)
        if not path.is_file():
            raise MissingFileError(f"there is no file {key}")
        return path


def _is_same(one: Path, other: Path) -> bool:
    return other.exists() and one.samefile(other)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with open_regular(source) as reading, open_atomic(target) as writing:
        shutil.copyfileobj(reading, writing)


def _remove_empty(folder: Path, top: Path) -> None:
    while folder.is_relative_to(top) and folder != top:
        folder.rmdir()
        folder = folder.parent
