"""The file store of a node with an object store: files go there directly; the rest is on the head; node agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from podium.sweep.file_store.file_store_interface import StoredFile, never
from podium.sweep.file_store.https_store import HeadFileStore
from podium.sweep.file_store.object_store import ObjectFileStore
from podium.sweep.values.errors import FileStoreError, MissingFileError


class DirectFileStore:
    """See `podium.sweep.file_store.file_store_interface.FileStore`. Thread-safe.

    The head has code, data sets, and the files of the attempts that ran on it.
    """

    def __init__(self, head: HeadFileStore, objects: ObjectFileStore) -> None:
        self._head = head
        self._objects = objects

    def put(self, key: str, path: Path, sha256: str, *, stopped: Callable[[], bool] = never) -> None:
        """Raises `RefusedFileError` as well: the attempt is over, so its files no longer count.

        `stopped`: asked before the transfer and before each new try; if it returns true, `FileStoreError` is raised.
        """
        self._head.ask("POST", "files/permission", json={"key": key}, stopped=stopped)
        if stopped():
            raise FileStoreError(f"{key} is sent later")
        self._objects.put(key, path, sha256, stopped=stopped)

    def get(self, key: str, path: Path) -> None:
        if key.startswith("trials/"):
            try:
                self._objects.get(key, path)
                return
            except MissingFileError:
                pass
        self._head.get(key, path)

    def read(self, key: str, start: int, end: int) -> bytes:
        if key.startswith("trials/"):
            try:
                return self._objects.read(key, start, end)
            except MissingFileError:
                pass
        return self._head.read(key, start, end)

    def remove(self, keys: Iterable[str]) -> None:
        wanted = list(keys)
        self._objects.remove(wanted)
        self._head.remove(wanted)

    def list(self, prefix: str) -> Sequence[StoredFile]:
        found = {each.key: each for each in (*self._head.list(prefix), *self._objects.list(prefix))}
        return [found[key] for key in sorted(found)]


NodeFileStore = HeadFileStore | DirectFileStore
