"""The file store in a bucket or a shared folder, through fsspec; nodes process and node agent.

An object is named by the key and the SHA-256 of its content: `trials/7/0/1-…/model.safetensors/SHA256`. It is complete
or missing in every store, needs no metadata, which the stores treat differently, and no rename, which they do not have.
A later file of a key is another object; the earlier one is removed after it.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from podium.sweep.file_store.file_store_interface import StoredFile, never
from podium.sweep.file_store.fsspec_folder import PATIENCE_S, FsspecFolder
from podium.sweep.file_store.object_store_url import ArtifactUrl
from podium.sweep.file_store.validated_file_keys import attempt_folder, checked, checked_prefix
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.values.errors import DamagedFileError, FileStoreError, MissingFileError

TRIES = 3  # to read a file that is replaced meanwhile
_OBJECT = re.compile(r"(?P<key>.+)/(?P<sha256>[0-9a-f]{64})")
_MODIFIED = ("LastModified", "last_modified", "mtime", "updated", "created")  # of s3, az, gs and file, gs, memory


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object, which holds a file of a key."""

    key: str
    sha256: str
    size_bytes: int
    modified_at: float
    name: str  # in the folder


class ObjectFileStore:
    """See `podium.sweep.file_store.file_store_interface.FileStore`. Thread-safe."""

    def __init__(
        self,
        filesystem: Any,
        root: str,
        *,
        name: str,
        patience_s: float = PATIENCE_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """See `podium.sweep.file_store.fsspec_folder.FsspecFolder`."""
        self._folder = FsspecFolder(filesystem, root, name=name, patience_s=patience_s, sleep=sleep)
        self.name = name

    @classmethod
    def open(cls, url: ArtifactUrl, *, patience_s: float = PATIENCE_S) -> ObjectFileStore:
        """The store at a URL. Raises `MissingExtraError`."""
        filesystem, root = url.open()
        return cls(filesystem, root, name=str(url), patience_s=patience_s)

    def put(self, key: str, path: Path, sha256: str, *, stopped: Callable[[], bool] = never) -> None:
        """`stopped`: asked before each new try; if it returns true, `FileStoreError` is raised."""
        target = f"{checked(key)}/{sha256}"
        if sha256_of(path) != sha256:
            raise DamagedFileError(f"{key} has another SHA-256 than {sha256}")
        size = path.stat().st_size
        before = self._objects(key)
        if not any(each.sha256 == sha256 and each.size_bytes == size for each in before):
            self._folder.put(target, path, stopped=stopped)
        self._remove(each for each in before if each.sha256 != sha256)

    def get(self, key: str, path: Path) -> None:
        """Raises `DamagedFileError` as well, if the content has another SHA-256 than the name of its object."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.part.tmp")
        try:
            for _ in range(TRIES):
                found = self._newest(key)
                try:
                    self._folder.get(found.name, temporary)
                except FileNotFoundError:
                    continue  # replaced by a newer one
                if sha256_of(temporary) == found.sha256:
                    with temporary.open("rb") as file:
                        os.fsync(file.fileno())
                    temporary.replace(path)
                    return
            raise DamagedFileError(f"{self.name}: {key} has another content than its SHA-256 says")
        except OSError as error:
            raise FileStoreError(f"cannot write {path}: {error.strerror}") from error
        finally:
            temporary.unlink(missing_ok=True)

    def read(self, key: str, start: int, end: int) -> bytes:
        for _ in range(TRIES):
            found = self._newest(key)
            last = min(end, found.size_bytes)
            if last <= start:
                return b""
            try:
                return self._folder.read(found.name, start=start, end=last)
            except FileNotFoundError:
                continue
        raise MissingFileError(f"{self.name}: there is no file {key}")

    def remove(self, keys: Iterable[str]) -> None:
        wanted = {checked(key) for key in keys}
        folders = {"trials/{}/{}/{}".format(*attempt_folder(key)) for key in wanted}
        self._remove([each for folder in sorted(folders) for each in self._below(folder) if each.key in wanted])

    def list(self, prefix: str) -> Sequence[StoredFile]:
        return [StoredFile(each.key, each.size_bytes) for each in self.find(prefix)]

    def find(self, prefix: str) -> Sequence[StoredObject]:
        """The newest object of each file of a trial, `prefix` being `trials/SWEEP/NUMBER/`, by key."""
        newest: dict[str, StoredObject] = {}
        for found in sorted(self._below(checked_prefix(prefix).rstrip("/")), key=lambda each: each.modified_at):
            newest[found.key] = found
        return sorted(newest.values(), key=lambda each: each.key)

    def mark(self, name: str, content: str) -> None:
        """Write a small object next to the files of trials, if there is none of this name."""
        if self.marked(name) is None:
            self._folder.write(name, content.encode())

    def marked(self, name: str) -> str | None:
        """The content of a small object; None if there is none."""
        try:
            return self._folder.read(name).decode()
        except FileNotFoundError:
            return None

    def unmark(self, name: str) -> None:
        """Remove a small object."""
        self._folder.remove(name)

    def _newest(self, key: str) -> StoredObject:
        found = self._objects(checked(key))
        if not found:
            raise MissingFileError(f"{self.name}: there is no file {key}")
        return max(found, key=lambda each: each.modified_at)

    def _objects(self, key: str) -> Sequence[StoredObject]:
        """The objects of a key: one, or several while the file is being replaced."""
        return _parsed(self._folder.entries(key))

    def _below(self, folder: str) -> Sequence[StoredObject]:
        found = _parsed(self._folder.entries(folder, below=True))
        return [each for each in found if each.key.startswith(f"{folder}/")]

    def _remove(self, objects: Iterable[StoredObject]) -> None:
        for each in objects:
            with contextlib.suppress(FileNotFoundError):
                self._folder.remove(each.name)


def _parsed(entries: Iterable[tuple[str, dict[str, Any]]]) -> Sequence[StoredObject]:
    objects = []
    for name, about in entries:
        match = _OBJECT.fullmatch(name)
        if match is not None:
            key, sha256, size = match["key"], match["sha256"], int(about["size"])
            objects.append(StoredObject(key, sha256, size, _modified_at(about), name))
    return objects


def _modified_at(info: dict[str, Any]) -> float:
    """When an object was written, in seconds since the epoch."""
    found = next((info[name] for name in _MODIFIED if info.get(name) is not None), 0.0)
    if isinstance(found, str):
        found = datetime.fromisoformat(found)
    return found.timestamp() if isinstance(found, datetime) else float(found)
