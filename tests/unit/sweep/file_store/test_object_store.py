"""Faults of an object store: interrupted replacements, damage, refusals, and failures that pass."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from podium.sweep.file_store.object_store import ObjectFileStore
from podium.sweep.file_store.object_store_url import ArtifactUrl
from podium.sweep.values.errors import DamagedFileError, FileStoreError, MissingFileError
from podium.sweep.values.failure_cause_detection import disk_is_full

KEY = "trials/7/0/1-0000abcd/model.safetensors"


class Failing(MemoryFileSystem):  # type: ignore[misc]
    """Its next operations raise an error."""

    def __init__(self, error: Exception, times: int) -> None:
        super().__init__(skip_instance_cache=True)
        self.store: dict[str, Any] = {}  # of its own
        self.pseudo_dirs = [""]
        self.error = error
        self.times = times

    def _fail(self) -> None:
        if self.times > 0:
            self.times -= 1
            raise self.error

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        self._fail()
        return super().ls(path, detail, **options)

    def find(self, path: str, *arguments: Any, **options: Any) -> Any:
        self._fail()
        return super().find(path, *arguments, **options)


class RefusingFiles(MemoryFileSystem):  # type: ignore[misc]
    """Takes no file."""

    def put_file(self, *arguments: Any, **options: Any) -> None:
        raise ConnectionError("away")


class Full(MemoryFileSystem):  # type: ignore[misc]
    """Has no room for the next files."""

    def __init__(self, times: int) -> None:
        super().__init__(skip_instance_cache=True)
        self.store: dict[str, Any] = {}
        self.pseudo_dirs = [""]
        self.times = times

    def put_file(self, *arguments: Any, **options: Any) -> None:
        if self.times > 0:
            self.times -= 1
            raise OSError(errno.ENOSPC, "No space left on device")
        super().put_file(*arguments, **options)


def written(path: Path, content: bytes) -> tuple[Path, str]:
    path.write_bytes(content)
    return path, hashlib.sha256(content).hexdigest()


def store_in(folder: Path) -> ObjectFileStore:
    return ObjectFileStore.open(ArtifactUrl.parse(f"file://{folder}"), patience_s=0.0)


def failing(error: Exception, times: int, *, patience_s: float = 0.0) -> tuple[ObjectFileStore, list[float]]:
    waited: list[float] = []
    store = ObjectFileStore(
        Failing(error, times), "/root", name="memory://root", patience_s=patience_s, sleep=waited.append
    )
    return store, waited


def test_newest_object_counts_if_a_replacement_was_interrupted(tmp_path: Path) -> None:
    """The process ended before it removed the earlier object."""
    store = store_in(tmp_path / "objects")
    store.put(KEY, *written(tmp_path / "file", b"first"))
    (earlier,) = (tmp_path / "objects" / KEY).iterdir()
    store.put(KEY, *written(tmp_path / "file", b"second"))
    earlier.write_bytes(b"first")
    os.utime(earlier, (0, 0))
    assert store.read(KEY, 0, 100) == b"second"
    assert [each.size_bytes for each in store.list("trials/7/0/")] == [6]
    store.put(KEY, *written(tmp_path / "file", b"third"))
    assert len(list((tmp_path / "objects" / KEY).iterdir())) == 1


def test_damaged_object_is_refused(tmp_path: Path) -> None:
    store = store_in(tmp_path / "objects")
    store.put(KEY, *written(tmp_path / "file", b"content"))
    (stored,) = (tmp_path / "objects" / KEY).iterdir()
    stored.write_bytes(b"damaged")
    with pytest.raises(DamagedFileError, match=r"model\.safetensors"):
        store.get(KEY, tmp_path / "back")
    assert not list(tmp_path.glob("*back*"))


def test_failure_that_passes_is_not_seen(tmp_path: Path) -> None:
    store, waited = failing(ConnectionError("reset"), 2, patience_s=60.0)
    store.put(KEY, *written(tmp_path / "file", b"content"))
    assert waited == [0.2, 0.4]
    assert store.read(KEY, 0, 100) == b"content"


def test_failure_names_the_store_and_the_key() -> None:
    store, _ = failing(ConnectionError("https://user:hush-hush@host reset"), 1)
    with pytest.raises(FileStoreError, match=rf"memory://root: cannot list {KEY}: ConnectionError") as failed:
        store.read(KEY, 0, 1)
    assert "hush" not in str(failed.value)


def test_put_that_is_stopped_is_not_tried_again(tmp_path: Path) -> None:
    waited: list[float] = []
    store = ObjectFileStore(
        RefusingFiles(skip_instance_cache=True), "/root", name="memory://root", patience_s=5.0, sleep=waited.append
    )
    with pytest.raises(FileStoreError, match="away"):
        store.put(KEY, *written(tmp_path / "file", b"x"), stopped=lambda: len(waited) == 2)
    assert len(waited) == 2


def test_full_store_is_tried_again(tmp_path: Path) -> None:
    waited: list[float] = []
    store = ObjectFileStore(Full(2), "/root", name="memory://root", patience_s=60.0, sleep=waited.append)
    store.put(KEY, *written(tmp_path / "file", b"content"))
    assert waited == [0.2, 0.4] and store.read(KEY, 0, 100) == b"content"


def test_store_that_stays_full_is_named_and_no_disk_of_this_machine(tmp_path: Path) -> None:
    """A device is drained when the disk of its node is full."""
    store = ObjectFileStore(Full(9), "/root", name="memory://root", patience_s=0.0)
    with pytest.raises(FileStoreError, match=r"^memory://root: cannot write .*: no space left in the store$") as failed:
        store.put(KEY, *written(tmp_path / "file", b"content"))
    assert not disk_is_full(failed.value)
    assert store.list("trials/7/0/") == []


def test_denied_access_is_not_tried_again() -> None:
    store, waited = failing(PermissionError("no"), 1, patience_s=60.0)
    with pytest.raises(FileStoreError, match="cannot list"):
        store.list("trials/7/0/")
    assert waited == []


def test_marks_are_no_files_of_trials(tmp_path: Path) -> None:
    store = store_in(tmp_path / "objects")
    assert store.marked("podium-store") is None
    store.mark("podium-store", "first")
    store.mark("podium-store", "second")
    assert store.marked("podium-store") == "first"
    store.unmark("podium-store")
    assert store.marked("podium-store") is None


def test_object_of_another_name_is_no_file(tmp_path: Path) -> None:
    store = store_in(tmp_path / "objects")
    folder = tmp_path / "objects" / KEY
    folder.mkdir(parents=True)
    (folder / "notes").write_text("x")
    with pytest.raises(MissingFileError):
        store.read(KEY, 0, 1)
    assert store.list("trials/7/0/") == []
