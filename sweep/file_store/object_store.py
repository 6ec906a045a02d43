"""The file store in a bucket or a shared folder, through fsspec; nodes process and node agent.

An object is named by the key and the SHA-256 of its content: `trials/7/0/1-…/model.safetensors/SHA256`. It is complete
or missing in every store, needs no metadata, which the stores treat differently, and no rename, which they do not have.
A later file of a key is another object; the earlier one is removed after it.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from podium.sweep.file_store.artifact_url import ArtifactUrl, without_credentials
from podium.sweep.file_store.file_keys import attempt_folder, checked, checked_prefix
from podium.sweep.file_store.store_interface import StoredFile, never
from podium.sweep.runtime.atomic_files import open_atomic
from podium.sweep.runtime.regular_files import open_regular, sha256_of
from podium.sweep.values.errors import DamagedFileError, FileStoreError, MissingFileError

PATIENCE_S = 600.0  # for which an operation is tried again while the store fails
FIRST_WAIT_S = 0.2
MAX_WAIT_S = 10.0
TRIES = 3  # to read a file that is replaced meanwhile
_OBJECT = re.compile(r"(?P<key>.+)/(?P<sha256>[0-9a-f]{64})")
_MODIFIED = ("LastModified", "last_modified", "mtime", "updated", "created")  # of s3, az, gs and file, gs, memory
_FULL = (errno.ENOSPC, errno.EDQUOT)
_T = TypeVar("_T")
log = logging.getLogger("podium.object_store")


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object, which holds a file of a key."""

    key: str
    sha256: str
    size_bytes: int
    modified_at: float
    path: str  # in the file system of fsspec


class ObjectFileStore:
    """See `podium.sweep.file_store.store_interface.FileStore`. Thread-safe."""

    def __init__(
        self,
        filesystem: Any,
        root: str,
        *,
        name: str,
        patience_s: float = PATIENCE_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """A file system of fsspec, and the folder in it.

        Args:
            filesystem: Without a cache of listings.
            root: The path of the folder, without a slash at its end.
            name: The URL, for messages.
            patience_s: For how long an operation is tried again.
            sleep: Waits between two tries.
        """
        self._filesystem = filesystem
        self._root = root
        self.name = name
        self._patience_s = patience_s
        self._sleep = sleep
        protocols = (filesystem.protocol,) if isinstance(filesystem.protocol, str) else filesystem.protocol
        self._is_folder = "file" in protocols

    @classmethod
    def open(cls, url: ArtifactUrl, *, patience_s: float = PATIENCE_S) -> ObjectFileStore:
        """The store at a URL. Raises `MissingExtraError`."""
        filesystem, root = url.open()
        return cls(filesystem, root, name=str(url), patience_s=patience_s)

    def put(self, key: str, path: Path, sha256: str, *, stopped: Callable[[], bool] = never) -> None:
        """`stopped`: asked before each new try; if it returns true, `FileStoreError` is raised."""
        target = f"{self._path(checked(key))}/{sha256}"
        if sha256_of(path) != sha256:
            raise DamagedFileError(f"{key} has another SHA-256 than {sha256}")
        size = path.stat().st_size
        before = self._objects(key)
        if not any(each.sha256 == sha256 and each.size_bytes == size for each in before):
            self._try(f"write {key}", self._put, path, target, size, stopped=stopped)
        self._remove(each for each in before if each.sha256 != sha256)

    def get(self, key: str, path: Path) -> None:
        """Raises `DamagedFileError` as well, if the content has another SHA-256 than the name of its object."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.part.tmp")
        try:
            for _ in range(TRIES):
                found = self._newest(key)
                try:
                    self._try(f"read {key}", self._filesystem.get_file, found.path, str(temporary))
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
                return bytes(self._try(f"read {key}", self._filesystem.cat_file, found.path, start=start, end=last))
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
        if self.marked(name) is not None:
            return
        try:
            self._try(f"write {name}", self._write, f"{self._root}/{name}", content.encode())
        except FileNotFoundError as error:
            raise FileStoreError(f"{self.name}: cannot write {name}: {error}") from error

    def marked(self, name: str) -> str | None:
        """The content of a small object; None if there is none."""
        try:
            return bytes(self._try(f"read {name}", self._filesystem.cat_file, f"{self._root}/{name}")).decode()
        except FileNotFoundError:
            return None

    def unmark(self, name: str) -> None:
        """Remove a small object."""
        self._try(f"remove {name}", self._filesystem.rm_file, f"{self._root}/{name}")

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}"

    def _put(self, path: Path, target: str, size: int) -> None:
        """Write an object. It appears complete: only a folder needs a temporary name for that."""
        try:
            if self._is_folder:
                Path(target).parent.mkdir(parents=True, exist_ok=True)
                with open_regular(path) as reading, open_atomic(Path(target)) as writing:
                    shutil.copyfileobj(reading, writing)
            else:
                self._filesystem.put_file(str(path), target)
            arrived = int(self._filesystem.info(target)["size"])
        except FileNotFoundError as error:
            raise FileStoreError(str(error) or "there is no such bucket") from error
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise FileStoreError("no space left in the store") from error  # which is not this machine: tried again
        if arrived != size:
            self._filesystem.rm_file(target)
            raise FileStoreError(f"{arrived} bytes arrived instead of {size}")

    def _write(self, target: str, content: bytes) -> None:
        if self._is_folder:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            with open_atomic(Path(target)) as file:
                file.write(content)
        else:
            self._filesystem.pipe_file(target, content)

    def _newest(self, key: str) -> StoredObject:
        found = self._objects(checked(key))
        if not found:
            raise MissingFileError(f"{self.name}: there is no file {key}")
        return max(found, key=lambda each: each.modified_at)

    def _objects(self, key: str) -> Sequence[StoredObject]:
        """The objects of a key: one, or several while the file is being replaced."""
        return self._parsed(self._try(f"list {key}", self._listed, "ls", self._path(key)))

    def _below(self, folder: str) -> Sequence[StoredObject]:
        found = self._try(f"list {folder}", self._listed, "find", self._path(folder))
        return [each for each in self._parsed(found) if each.key.startswith(f"{folder}/")]

    def _listed(self, how: str, path: str) -> Sequence[dict[str, Any]]:
        self._filesystem.invalidate_cache()
        # Those that walk through folders skip the ones that they may not read, unless they are told otherwise.
        walks = how == "find" and not getattr(self._filesystem, "async_impl", False)
        options = {"on_error": _raise_unless_missing} if walks else {}
        try:
            found = getattr(self._filesystem, how)(path, detail=True, **options)
        except FileNotFoundError:
            return []
        return tuple(found.values() if isinstance(found, dict) else found)

    def _parsed(self, found: Iterable[dict[str, Any]]) -> Sequence[StoredObject]:
        objects = []
        for each in found:
            match = _OBJECT.fullmatch(str(each["name"])[len(self._root) + 1 :])
            if match is not None and each["type"] == "file":
                objects.append(
                    StoredObject(match["key"], match["sha256"], int(each["size"]), _modified_at(each), each["name"])
                )
        return objects

    def _remove(self, objects: Iterable[StoredObject]) -> None:
        for each in objects:
            try:
                self._try(f"remove {each.key}", self._filesystem.rm_file, each.path)
            except FileNotFoundError:
                continue
            if self._is_folder:
                _remove_empty(Path(each.path).parent, Path(self._root))

    def _try(
        self,
        what: str,
        call: Callable[..., _T],
        *arguments: object,
        stopped: Callable[[], bool] = never,
        **options: object,
    ) -> _T:
        """The result of `call`, which is repeated while the store fails. Raises `FileStoreError`.

        `FileNotFoundError` is raised as it is.
        """
        end = time.monotonic() + self._patience_s
        wait_s = FIRST_WAIT_S
        while True:
            try:
                return call(*arguments, **options)
            except FileNotFoundError:
                raise
            except Exception as error:  # each package has its own
                said = str(error) if isinstance(error, FileStoreError) else f"{type(error).__name__}: {error}"
                reason = without_credentials(said)[:500]
                if _is_permanent(error) or time.monotonic() + wait_s > end or stopped():
                    raise FileStoreError(f"{self.name}: cannot {what}: {reason}") from error
            log.info("%s: cannot %s: %s; trying again", self.name, what, reason)
            self._sleep(wait_s)
            wait_s = min(2 * wait_s, MAX_WAIT_S)


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # removed meanwhile
        raise error


def _is_permanent(error: Exception) -> bool:
    """Whether it makes no sense to try again: access is denied, or the disk of this machine is full."""
    return isinstance(error, PermissionError) or (isinstance(error, OSError) and error.errno in _FULL)


def _modified_at(info: dict[str, Any]) -> float:
    """When an object was written, in seconds since the epoch."""
    found = next((info[name] for name in _MODIFIED if info.get(name) is not None), 0.0)
    if isinstance(found, str):
        found = datetime.fromisoformat(found)
    return found.timestamp() if isinstance(found, datetime) else float(found)


def _remove_empty(folder: Path, top: Path) -> None:
    """Remove a folder and those above it as far as they are empty."""
    while folder != top and folder.is_relative_to(top):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
