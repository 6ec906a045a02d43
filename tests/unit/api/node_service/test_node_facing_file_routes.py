"""Files of nodes: which attempts may be written, what may be read and removed, and uploads that continue."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from podium.db.access.tokens import Role
from podium.sweep.file_store.https_store import HeadFileStore
from podium.sweep.values.errors import FileStoreError, RefusedFileError
from tests.service_rig import ServiceRig, assert_problem, nonce

CONTENT = b"0123456789" * 100
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceRig]:
    made = ServiceRig(tmp_path / "head")
    yield made
    made.close()


@pytest.fixture
def node(service: ServiceRig) -> TestClient:
    return service.client(Role.NODE, service.node_service())


def key_of(service: ServiceRig, sweep_id: int, number: int, name: str = "model.safetensors") -> str:
    return service.data.relative(service.data.attempt(sweep_id, number, 1, nonce(number)) / name)


def put(node: TestClient, key: str, offset: int, content: bytes, **changes: str | int) -> tuple[int, int | None]:
    """The status, and how much has been received."""
    about: dict[str, str | int] = {"offset": offset, "size_bytes": len(CONTENT), "sha256": SHA256, **changes}
    answer = node.put(f"/internal/v1/files/{key}", params=about, content=content)
    return answer.status_code, answer.json().get("received")


@pytest.mark.parametrize("role", [Role.VIEWER, Role.SUBMITTER, Role.ADMIN, None])
def test_others_than_nodes_are_refused(service: ServiceRig, role: Role | None) -> None:
    client = service.client(role, service.node_service())
    for method, path in (
        ("GET", "files?prefix=trials/1/0/"), ("GET", "files/trials/1/0/1/log"), ("PUT", "files/trials/1/0/1/log"),
        ("PUT", "logs/trials/1/0/1/log"), ("POST", "files/remove"), ("POST", "datasets"), ("POST", "join"),
        ("POST", "reports"), ("POST", "attempts/over"), ("POST", "files/permission"),
    ):  # fmt: skip
        assert_problem(client.request(method, f"/internal/v1/{path}"), 401 if role is None else 403)


def test_upload_continues_where_it_ended(service: ServiceRig, node: TestClient) -> None:
    sweep_id = service.sweep()
    service.trial(sweep_id, 0, None, model=False, device="b:cpu-0")
    key = key_of(service, sweep_id, 0)
    assert put(node, key, 0, CONTENT[:300]) == (200, 300)
    assert put(node, key, 0, CONTENT[:300]) == (409, 300), "the response was lost"
    restarted = service.client(Role.NODE, service.node_service())
    assert put(restarted, key, 500, CONTENT[500:]) == (409, 300)
    assert not (service.data.root / key).exists(), "a file appears complete"
    assert put(restarted, key, 300, CONTENT[300:]) == (200, 1000)
    assert (service.data.root / key).read_bytes() == CONTENT
    assert list(service.data.uploads.iterdir()) == []


def test_damaged_upload_begins_again(service: ServiceRig, node: TestClient) -> None:
    sweep_id = service.sweep()
    service.trial(sweep_id, 0, None, model=False, device="b:cpu-0")
    key = key_of(service, sweep_id, 0)
    assert put(node, key, 0, b"x" + CONTENT[1:])[0] == 422
    assert put(node, key, 0, CONTENT) == (200, 1000)


def test_files_of_an_attempt_that_is_over_are_refused(service: ServiceRig, node: TestClient, tmp_path: Path) -> None:
    """A node that was cut off, and whose trial ran elsewhere, changes nothing."""
    sweep_id = service.sweep()
    service.trial(sweep_id, 0, 0.5, model=False, device="b:cpu-0")
    service.trial(sweep_id, 1, None, model=False, device="cpu-0")
    (tmp_path / "file").write_bytes(CONTENT)
    store = HeadFileStore(node, patience_s=0.0)
    for number in (0, 1):
        with pytest.raises(RefusedFileError, match="is over"):
            store.put(key_of(service, sweep_id, number), tmp_path / "file", SHA256)
        with pytest.raises(RefusedFileError, match="is over"):
            store.append_log(key_of(service, sweep_id, number, "log"), 0, b"late")
    assert list(service.data.trials.rglob("*.*")) == []


def test_head_tells_which_attempts_are_over(service: ServiceRig, node: TestClient) -> None:
    sweep_id = service.sweep()
    service.trial(sweep_id, 0, 0.5, model=False, device="b:cpu-0")
    service.trial(sweep_id, 1, None, model=False, device="b:cpu-0")
    folders = [str(Path(key_of(service, sweep_id, number)).parent) for number in (0, 1, 2)]
    answer = node.post("/internal/v1/attempts/over", json={"folders": folders})
    assert answer.json() == {"over": folders[:1]}
    assert_problem(node.post("/internal/v1/attempts/over", json={"folders": ["trials/../x"]}), 400)


def test_files_of_an_attempt_from_before_a_restored_backup_are_refused(
    service: ServiceRig, node: TestClient, tmp_path: Path
) -> None:
    """Another attempt has its numbers now."""
    sweep_id = service.sweep()
    service.trial(sweep_id, 0, None, model=False, device="b:cpu-0")
    (tmp_path / "file").write_bytes(CONTENT)
    old = service.data.relative(service.data.attempt(sweep_id, 0, 1, "ffffffff") / "model.safetensors")
    with pytest.raises(RefusedFileError, match="is over"):
        HeadFileStore(node, patience_s=0.0).put(old, tmp_path / "file", SHA256)


def test_attempt_that_is_not_recorded_yet_is_tried_again(service: ServiceRig, node: TestClient, tmp_path: Path) -> None:
    sweep_id = service.sweep()
    (tmp_path / "file").write_bytes(CONTENT)
    key = key_of(service, sweep_id, 0)

    def record(_: float) -> None:
        service.trial(sweep_id, 0, None, model=False, device="b:cpu-0")

    HeadFileStore(node, patience_s=60.0, sleep=record).put(key, tmp_path / "file", SHA256)
    assert (service.data.root / key).read_bytes() == CONTENT
    with pytest.raises(FileStoreError, match="is not recorded"):
        HeadFileStore(node, patience_s=0.0).put(key_of(service, sweep_id, 7), tmp_path / "file", SHA256)


def test_log_grows_and_is_written_again_when_it_was_shortened(service: ServiceRig, node: TestClient) -> None:
    sweep_id = service.sweep()
    service.trial(sweep_id, 0, None, model=False, device="b:cpu-0")
    key, store = key_of(service, sweep_id, 0, "log"), HeadFileStore(node, patience_s=0.0)
    assert store.append_log(key, 0, b"one\n") == 4
    assert store.append_log(key, 4, b"two\n") == 8
    assert store.append_log(key, 20, b"after a gap") == 8, "the head says what it has"
    assert store.append_log(key, 0, b"new\n") == 4
    assert (service.data.root / key).read_bytes() == b"new\n"


def test_only_checkpoints_can_be_removed(service: ServiceRig, node: TestClient) -> None:
    sweep_id = service.sweep()
    service.trial(sweep_id, 0, 0.5)
    answer = node.post("/internal/v1/files/remove", json={"keys": [key_of(service, sweep_id, 0)]})
    assert "belongs to no checkpoint" in assert_problem(answer, 400)["detail"]
    assert (service.data.root / key_of(service, sweep_id, 0)).exists()


def test_file_of_an_attempt_that_is_over_may_not_be_written_to_the_object_store(
    service: ServiceRig, node: TestClient
) -> None:
    sweep_id = service.sweep()
    service.trial(sweep_id, 0, None, model=False, device="b:cpu-0")
    service.trial(sweep_id, 1, 0.5, model=False, device="b:cpu-0")
    path = "/internal/v1/files/permission"
    assert node.post(path, json={"key": key_of(service, sweep_id, 0)}).status_code == 200
    assert_problem(node.post(path, json={"key": key_of(service, sweep_id, 1)}), 409, "is over")
    assert_problem(node.post(path, json={"key": key_of(service, sweep_id, 7)}), 503, "not recorded")
    assert_problem(node.post(path, json={"key": "admin.token"}), 400, "not the key")
