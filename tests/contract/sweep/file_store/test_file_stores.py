"""What every file store promises, over each implementation: the data directory, the head over HTTP, object stores."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import fsspec
import pytest
from starlette.testclient import TestClient

from podium.db.access.tokens import Role
from podium.sweep.file_store.file_store_interface import FileStore
from podium.sweep.file_store.head_and_object_store import DirectFileStore
from podium.sweep.file_store.https_store import HeadFileStore
from podium.sweep.file_store.local_store import LocalFileStore
from podium.sweep.file_store.object_store import ObjectFileStore
from podium.sweep.file_store.object_store_url import ArtifactUrl
from podium.sweep.values.errors import BadRequestError, DamagedFileError, FileStoreError, MissingFileError
from tests.contract.sweep.file_store.object_store_servers import EMULATORS, new_folder
from tests.service_rig import ServiceRig, nonce

NODE_DEVICE = "b:cpu-0"
PART_BYTES = 1000


@dataclass
class Stored:
    """A store, and the folder of an attempt that runs on a node."""

    store: FileStore
    service: ServiceRig
    sweep_id: int

    @property
    def prefix(self) -> str:
        return f"trials/{self.sweep_id}/0/"

    def key(self, name: str) -> str:
        return self.service.data.relative(self.service.data.attempt(self.sweep_id, 0, 1, nonce(0))) + f"/{name}"


@pytest.fixture(params=["local", "head", "file", "direct", "memory", *EMULATORS])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stored]:
    service = ServiceRig(tmp_path / "head")
    sweep_id = service.sweep()
    service.trial(sweep_id, 0, None, model=False, device=NODE_DEVICE)
    with contextlib.ExitStack() as stack:
        stack.callback(service.close)
        yield Stored(_store(request.param, service, tmp_path, stack), service, sweep_id)


def _store(name: str, service: ServiceRig, folder: Path, stack: contextlib.ExitStack) -> FileStore:
    if name == "local":
        return LocalFileStore(service.data.root)
    client: TestClient = service.client(Role.NODE, service.node_service())
    head = HeadFileStore(client, part_bytes=PART_BYTES, patience_s=0.0)
    if name == "head":
        return head
    if name == "memory":
        memory = fsspec.filesystem("memory")
        root = f"/{folder.name}-{secrets.token_hex(4)}"
        stack.callback(lambda: memory.rm(root, recursive=True) if memory.exists(root) else None)
        return ObjectFileStore(memory, root, name="memory://", patience_s=0.0)
    url = ArtifactUrl.parse(stack.enter_context(new_folder(name)) if name in EMULATORS else f"file://{folder}/objects")
    objects = ObjectFileStore.open(url, patience_s=0.0)
    return DirectFileStore(head, objects) if name == "direct" else objects


def written(path: Path, content: bytes) -> tuple[Path, str]:
    path.write_bytes(content)
    return path, hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("size", [0, 1, PART_BYTES, 3 * PART_BYTES + 1])
def test_file_comes_back_as_it_was_put(stored: Stored, tmp_path: Path, size: int) -> None:
    content = bytes(index % 251 for index in range(size))
    stored.store.put(stored.key("model.safetensors"), *written(tmp_path / "file", content))
    stored.store.get(stored.key("model.safetensors"), tmp_path / "deep" / "back")
    assert (tmp_path / "deep" / "back").read_bytes() == content
    assert [(each.key, each.size_bytes) for each in stored.store.list(stored.prefix)] == [
        (stored.key("model.safetensors"), size)
    ]


def test_later_file_replaces_an_earlier_one(stored: Stored, tmp_path: Path) -> None:
    key = stored.key("checkpoint.safetensors")
    for content in (b"first", b"second, and longer", b"third"):
        stored.store.put(key, *written(tmp_path / "file", content))
    assert stored.store.read(key, 0, 100) == b"third"


def test_same_file_can_be_put_again(stored: Stored, tmp_path: Path) -> None:
    file = written(tmp_path / "file", b"x" * (2 * PART_BYTES))
    for _ in range(2):
        stored.store.put(stored.key("model.safetensors"), *file)


def test_parts_of_a_file_are_read(stored: Stored, tmp_path: Path) -> None:
    key = stored.key("log")
    stored.store.put(key, *written(tmp_path / "file", b"0123456789"))
    assert stored.store.read(key, 2, 5) == b"234"
    assert stored.store.read(key, 8, 100) == b"89"
    assert stored.store.read(key, 10, 20) == b""
    assert stored.store.read(key, 5, 5) == b""


def test_file_with_another_hash_is_refused(stored: Stored, tmp_path: Path) -> None:
    path, _ = written(tmp_path / "file", b"damaged")
    with pytest.raises(DamagedFileError):
        stored.store.put(stored.key("model.safetensors"), path, "0" * 64)
    assert stored.store.list(stored.prefix) == []


def test_missing_file_is_named(stored: Stored, tmp_path: Path) -> None:
    key = stored.key("model.safetensors")
    with pytest.raises(MissingFileError, match=r"model\.safetensors"):
        stored.store.get(key, tmp_path / "back")
    assert list(tmp_path.glob("*back*")) == []
    with pytest.raises(MissingFileError, match=r"model\.safetensors"):
        stored.store.read(key, 0, 10)


def test_removed_checkpoints_are_gone_with_their_folders(stored: Stored, tmp_path: Path) -> None:
    kept, *removed = (
        stored.key(name) for name in ("model.safetensors", "checkpoints/3/data/a b", "checkpoints/3/podium.json")
    )
    for key in (kept, *removed):
        stored.store.put(key, *written(tmp_path / "file", b"x"))
    stored.store.remove([*removed, stored.key("checkpoint.safetensors")])
    assert [each.key for each in stored.store.list(stored.prefix)] == [kept]
    assert not (stored.service.data.root / removed[0]).parent.exists()


def test_temporary_files_are_not_listed(stored: Stored) -> None:
    folder = stored.service.data.root / stored.key("x")
    folder.parent.mkdir(parents=True)
    (folder.parent / ".model.safetensors.123.tmp").touch()
    (folder.parent / "checkpoints" / ".3.tmp").mkdir(parents=True)
    (folder.parent / "checkpoints" / ".3.tmp" / "podium.json").touch()
    assert stored.store.list(stored.prefix) == []


KEYS_OF_NO_FILE = (
    "", "podium.sqlite3", "admin.token", "trials/1/0/1", "trials/1/0/1/", "trials/1/0/../../../admin.token",
    "trials/1/0/1/a//b", "trials/1/0/1/./a", "trials/1/0/1/a/..", "/etc/passwd", "trials/x/0/1/a", "bundles/a.zip",
    "datasets/a/../../admin.npy", "trials/1/0/1/a\0b", "logs/api.log",
)  # fmt: skip


def test_keys_of_no_stored_file_are_refused(stored: Stored, tmp_path: Path) -> None:
    file = written(tmp_path / "file", b"x")
    for key in KEYS_OF_NO_FILE:
        with pytest.raises(BadRequestError):
            stored.store.put(key, *file)
        with pytest.raises(BadRequestError):
            stored.store.get(key, tmp_path / "back")
        with pytest.raises(BadRequestError):
            stored.store.read(key, 0, 1)
        with pytest.raises(BadRequestError):
            stored.store.remove([key])


def test_prefix_of_no_trial_is_refused(stored: Stored) -> None:
    for prefix in ("", "trials/", "trials/1/", "logs/", "trials/1/0", "trials/1/../"):
        with pytest.raises(BadRequestError):
            stored.store.list(prefix)


def test_link_out_of_the_data_directory_is_refused(stored: Stored, tmp_path: Path) -> None:
    if isinstance(stored.store, ObjectFileStore | DirectFileStore):
        pytest.skip("trials cannot make links in an object store")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_text("secret")
    folder = (stored.service.data.root / stored.key("x")).parent
    folder.mkdir(parents=True)
    (folder / "out").symlink_to(tmp_path / "elsewhere")
    (folder / "file").symlink_to(tmp_path / "elsewhere" / "secret")
    for key in (stored.key("out/secret"), stored.key("file")):
        with pytest.raises(BadRequestError):
            stored.store.get(key, tmp_path / "back")
        with pytest.raises(BadRequestError):
            stored.store.put(key, *written(tmp_path / "new", b"x"))
    assert (tmp_path / "elsewhere" / "secret").read_text() == "secret"


def test_files_of_other_trials_are_not_listed(stored: Stored, tmp_path: Path) -> None:
    """Their numbers begin alike."""
    stored.store.put(stored.key("model.safetensors"), *written(tmp_path / "file", b"x"))
    assert stored.store.list(f"trials/{stored.sweep_id}0/0/") == []
    assert stored.store.list(f"trials/{stored.sweep_id}/1/") == []


def test_names_with_special_characters_are_kept_apart(stored: Stored, tmp_path: Path) -> None:
    """Packages for object stores treat some as patterns."""
    keys = [stored.key(f"checkpoints/3/{name}") for name in ("a*", "ab", "[x]", "x", "a b", "ä", "a#b?c=d", "a%b")]
    for key in keys:
        stored.store.put(key, *written(tmp_path / "file", key.encode()))
    assert [stored.store.read(key, 0, 100) for key in keys] == [key.encode() for key in keys]
    stored.store.remove([keys[0], keys[2]])
    assert [each.key for each in stored.store.list(stored.prefix)] == sorted({*keys} - {keys[0], keys[2]})


def test_link_is_not_sent(stored: Stored, tmp_path: Path) -> None:
    """A trial may have made it."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    with pytest.raises((FileStoreError, OSError)):
        stored.store.put(stored.key("model.safetensors"), tmp_path / "link", hashlib.sha256(b"secret").hexdigest())
