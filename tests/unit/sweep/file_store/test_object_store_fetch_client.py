"""Files that are only in the object store, for the components of the head, through the socket of the nodes process."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from safetensors.numpy import save

from podium.sweep.file_store import object_store_fetch_client
from podium.sweep.file_store.object_store import ObjectFileStore
from podium.sweep.file_store.object_store_downloader import ArtifactCache
from podium.sweep.file_store.object_store_fetch_server import ArtifactServer
from podium.sweep.file_store.object_store_url import ArtifactUrl
from podium.sweep.file_store.recorded_object_store_config import ObjectStoreConfig
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import FileStoreError


class Counting(ObjectFileStore):
    """Counts downloads, each of which waits until `may_go`."""

    downloads = 0
    may_go = threading.Event()

    def get(self, key: str, path: Path) -> None:
        self.downloads += 1
        self.may_go.wait(10.0)
        super().get(key, path)


@dataclass
class Head:
    """A data directory, its object store, and a server of it."""

    data: DataDirectory
    store: Counting
    server: ArtifactServer
    files: Path

    def put(self, name: str, content: bytes, attempt: str = "1-0000abcd") -> Path:
        """The path at which a stored file belongs."""
        path = self.data.trials / "7" / "0" / attempt / name
        (self.files / "file").write_bytes(content)
        self.store.put(self.data.relative(path), self.files / "file", hashlib.sha256(content).hexdigest())
        return path

    def names(self) -> list[str]:
        """What is stored of the trial."""
        return ["/".join(each.key.split("/")[4:]) for each in self.store.list("trials/7/0/")]


@pytest.fixture
def head(tmp_path: Path) -> Iterator[Head]:
    data = DataDirectory(tmp_path / "data")
    data.prepare()
    filesystem, root = ArtifactUrl.parse(f"file://{tmp_path}/objects").open()
    store = Counting(filesystem, root, name="file://objects", patience_s=0.0)
    store.may_go = threading.Event()
    store.may_go.set()
    socket = tmp_path / "s"
    ObjectStoreConfig("file://objects", "id", str(socket)).save(data)
    with ArtifactServer(socket, ArtifactCache(store, data)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Head(data, store, server, tmp_path)
        server.shutdown()
        thread.join()


def test_file_is_fetched_once_for_all_who_wait(head: Head) -> None:
    path = head.put("model.safetensors", b"content")
    head.store.may_go.clear()
    waiting = [threading.Thread(target=object_store_fetch_client.ensure, args=(head.data, path)) for _ in range(5)]
    for thread in waiting:
        thread.start()
    head.store.may_go.set()
    for thread in waiting:
        thread.join()
    assert path.read_bytes() == b"content" and head.store.downloads == 1
    object_store_fetch_client.ensure(head.data, path)
    assert head.store.downloads == 1


def test_missing_file_stays_missing(head: Head) -> None:
    path = head.data.trials / "7" / "0" / "1-0000abcd" / "model.safetensors"
    object_store_fetch_client.ensure(head.data, path)
    assert not path.exists() and object_store_fetch_client.stored(head.data, path) is None
    assert object_store_fetch_client.header(head.data, path) is None


def test_size_and_hash_are_told_without_the_content(head: Head) -> None:
    path = head.put("artifacts/note.txt", b"content")
    assert object_store_fetch_client.stored(head.data, path) == (7, hashlib.sha256(b"content").hexdigest())
    assert not path.exists()


def test_header_is_read_without_the_rest(head: Head) -> None:
    import numpy as np

    path = head.put("model.safetensors", save({"w": np.zeros(4, np.float32)}, {"architecture": "{}"}))
    assert object_store_fetch_client.header(head.data, path) == {"architecture": "{}"}
    assert not path.exists() and head.store.downloads == 0
    object_store_fetch_client.ensure(head.data, path)
    assert object_store_fetch_client.header(head.data, path) is None, "it is here"


@pytest.mark.parametrize("content", [b"", b"\xff" * 8, b"\x02" + b"\0" * 7 + b"[]", b"\x05" + b"\0" * 7 + b"text!"])
def test_file_without_a_header_is_refused(head: Head, content: bytes) -> None:
    path = head.put("model.safetensors", content)
    with pytest.raises(FileStoreError, match="header"):
        object_store_fetch_client.header(head.data, path)


def test_checkpoint_of_the_newest_earlier_attempt_is_fetched(head: Head) -> None:
    wanted = [head.put(f"checkpoints/3/{name}", b"new", "2-0000abcd") for name in ("podium.json", "weights")]
    others = [head.put("checkpoint.safetensors", b"old"), head.put("checkpoint.safetensors", b"own", "3-0000abcd")]
    object_store_fetch_client.ensure_checkpoints(head.data, head.data.trials / "7" / "0" / "3-0000abcd", 3)
    assert all(path.read_bytes() == b"new" for path in wanted)
    assert not any(path.exists() for path in others)


def test_files_and_folders_are_removed(head: Head) -> None:
    for name in ("model.safetensors", "artifacts/a", "artifacts/b", "artifacts-of-mine/c", "checkpoint.safetensors"):
        head.put(name, b"x")
    folder = head.data.trials / "7" / "0" / "1-0000abcd"
    object_store_fetch_client.remove(
        head.data, [folder / "artifacts", folder / "model.safetensors", folder / "predictions"]
    )
    assert head.names() == ["artifacts-of-mine/c", "checkpoint.safetensors"]
    object_store_fetch_client.remove_checkpoints(head.data, folder)
    assert head.names() == ["artifacts-of-mine/c"]


def test_damaged_file_is_not_fetched(head: Head) -> None:
    path = head.put("model.safetensors", b"content")
    (stored,) = (head.files / "objects").glob("trials/7/0/*/model.safetensors/*")
    stored.write_bytes(b"another")
    with pytest.raises(FileStoreError, match="another content"):
        object_store_fetch_client.ensure(head.data, path)
    assert not path.exists()


def test_service_that_is_stopped_is_named(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path)
    ObjectStoreConfig("s3://bucket/x", "id", str(tmp_path / "gone")).save(data)
    with pytest.raises(FileStoreError, match="s3://bucket/x can only be read while the service runs"):
        object_store_fetch_client.ensure(data, data.trials / "7" / "0" / "1" / "model.safetensors")


def test_nothing_is_asked_without_an_object_store(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path)
    path = data.trials / "7" / "0" / "1" / "model.safetensors"
    object_store_fetch_client.ensure(data, path)
    object_store_fetch_client.remove(data, [path])
    assert object_store_fetch_client.header(data, path) is None and object_store_fetch_client.stored(data, path) is None


def test_key_of_no_file_of_an_attempt_is_refused(head: Head) -> None:
    for key in ("admin.token", "trials/7/0/../../../admin.token"):
        with pytest.raises(FileStoreError, match="not the key"):
            object_store_fetch_client.ensure(head.data, head.data.root / key)
