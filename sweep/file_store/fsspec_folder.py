"""A folder in a bucket or a file system of fsspec: objects that appear complete, and patience with failures.

Nodes process, node agent, and the programs of `podium backup` and `podium restore`.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from podium.sweep.file_store.file_store_interface import never
from podium.sweep.file_store.object_store_url import ArtifactUrl, without_credentials
from podium.sweep.runtime.atomic_files import open_atomic
from podium.sweep.runtime.safe_file_reads import open_regular
from podium.sweep.values.errors import FileStoreError

PATIENCE_S = 600.0  # for which an operation is tried again while the store fails
FIRST_WAIT_S = 0.2
MAX_WAIT_S = 10.0
_FULL = (errno.ENOSPC, errno.EDQUOT)
_T = TypeVar("_T")
log = logging.getLogger("podium.object_store")


class FsspecFolder:
    """Objects by name, which is relative to the folder. Thread-safe.

    All methods raise `FileStoreError` if the store cannot be used.
    """

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
        self.is_local = "file" in protocols

    @property
    def local(self) -> Path | None:
        """The folder, if it is one of this machine's file systems."""
        return Path(self._root) if self.is_local else None

    def names(self) -> set[str]:
        """The names of what is in it, also of folders."""
        found = self._try("list it", self._listed, "ls", self._root)
        return {str(each["name"]).rstrip("/").rpartition("/")[2] for each in found}

    @classmethod
    def open(cls, url: ArtifactUrl, *, patience_s: float = PATIENCE_S) -> FsspecFolder:
        """The folder at a URL. Raises `MissingExtraError`."""
        filesystem, root = url.open()
        return cls(filesystem, root, name=str(url), patience_s=patience_s)

    def put(self, name: str, path: Path, *, stopped: Callable[[], bool] = never) -> None:
        """Write a file as an object. `stopped`: asked before each new try; if it returns true, an error is raised."""
        self._try(f"write {name}", self._put, path, self._path(name), path.stat().st_size, stopped=stopped)

    def move(self, name: str, path: Path) -> None:
        """Like `put`, but a local folder does not copy a file that is in its file system. The file may be gone then."""
        if self.local is None:
            self.put(name, path)
        else:
            self._try(f"write {name}", self._move, path, self.local / name)

    def get(self, name: str, path: Path) -> None:
        """Write an object to a file. Raises `FileNotFoundError`."""
        self._try(f"read {name}", self._filesystem.get_file, self._path(name), str(path))

    def read(self, name: str, start: int | None = None, end: int | None = None) -> bytes:
        """An object, or its part from `start` up to, not including, `end`. Raises `FileNotFoundError`."""
        return bytes(self._try(f"read {name}", self._filesystem.cat_file, self._path(name), start=start, end=end))

    def write(self, name: str, content: bytes) -> None:
        """Write a small object."""
        try:
            self._try(f"write {name}", self._write, self._path(name), content)
        except FileNotFoundError as error:
            raise FileStoreError(f"{self.name}: cannot write {name}: {self._missing(error)}") from error

    def remove(self, name: str) -> None:
        """Remove an object, in a file system with the folders that are empty then. Raises `FileNotFoundError`."""
        self._try(f"remove {name}", self._filesystem.rm_file, self._path(name))
        if self.is_local:
            _remove_empty(Path(self._path(name)).parent, Path(self._root))

    def entries(self, name: str, *, below: bool = False) -> Sequence[tuple[str, dict[str, Any]]]:
        """The names of the objects in a folder, or all `below` it, with what the file system knows of them."""
        listed = self._try(f"list {name}", self._listed, "find" if below else "ls", self._path(name))
        files = (each for each in listed if each["type"] == "file")
        return [(str(each["name"])[len(self._root) + 1 :], each) for each in files]

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _put(self, path: Path, target: str, size: int) -> None:
        """Write an object. It appears complete: only a folder needs a temporary name for that."""
        try:
            if self.is_local:
                Path(target).parent.mkdir(parents=True, exist_ok=True)
                with open_regular(path) as reading, open_atomic(Path(target)) as writing:
                    shutil.copyfileobj(reading, writing)
            else:
                self._filesystem.put_file(str(path), target)
            arrived = int(self._filesystem.info(target)["size"])
        except FileNotFoundError as error:
            raise self._missing(error, path) from error
        except OSError as error:
            if error.errno not in _FULL:
                raise
            # Not from the error, which would say that the disk of this machine is full. Tried again.
            raise FileStoreError("no space left in the store") from None
        if arrived != size:
            self._filesystem.rm_file(target)
            raise FileStoreError(f"{arrived} bytes arrived instead of {size}")

    def _missing(self, error: FileNotFoundError, source: Path | None = None) -> FileStoreError:
        """Why an object could not be written. Packages describe a missing bucket differently, some only by its URL."""
        of_bucket = not self.is_local and (source is None or source.exists())
        return FileStoreError(f"there is no such bucket or container: {error}" if of_bucket else str(error))

    def _move(self, path: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as file:
            os.fsync(file.fileno())
        path.replace(target)

    def _write(self, target: str, content: bytes) -> None:
        if self.is_local:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            with open_atomic(Path(target)) as file:
                file.write(content)
        else:
            self._filesystem.pipe_file(target, content)

    def _listed(self, how: str, path: str) -> Sequence[dict[str, Any]]:
        self._filesystem.invalidate_cache()
        # By default, methods that walk through folders skip those that they may not read.
        walks = how == "find" and not getattr(self._filesystem, "async_impl", False)
        options = {"on_error": _raise_unless_missing} if walks else {}
        try:
            found = getattr(self._filesystem, how)(path, detail=True, **options)
        except FileNotFoundError:
            return []
        return tuple(found.values() if isinstance(found, dict) else found)

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


def _remove_empty(folder: Path, top: Path) -> None:
    """Remove a folder and those above it as far as they are empty."""
    while folder != top and folder.is_relative_to(top):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
