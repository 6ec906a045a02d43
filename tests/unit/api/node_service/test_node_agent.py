"""The agent of a node with the real routes of the head: broken connections, restarts, full disks, what slots leave."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from podium.db.access.tokens import Role
from podium.sweep.file_store.https_store import HeadFileStore
from podium.sweep.node_agent.file_request_server import NodeAgent
from podium.sweep.protocol.slot_to_node_agent_messages import FetchFiles, FilesFailed, FilesReady, SendFiles
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.errors import FileStoreError
from podium.sweep.values.failure_causes import Cause
from tests.service_rig import ServiceRig, nonce

PART = 1000
CONTENT = bytes(index % 251 for index in range(5 * PART + 7))
DEVICE = "b:cpu-0"


class BrokenConnection:
    """The client of a node whose connection breaks at some requests; the others arrive."""

    def __init__(self, client: TestClient, *, breaks_at: set[int]) -> None:
        """`breaks_at`: numbers of requests, from 0; each arrives, but its answer breaks off."""
        self._client = client
        self._breaks_at = breaks_at
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def request(self, method: str, url: str, **options: Any) -> httpx2.Response:
        answer = self._client.request(method, url, **options)
        if self._is_broken(method, options):
            raise httpx2.ReadError("the cable was cut")
        return answer

    @contextmanager
    def stream(self, method: str, url: str, **options: Any) -> Iterator[Any]:
        with self._client.stream(method, url, **options) as answer:
            yield BrokenAnswer(answer) if self._is_broken(method, options) else answer

    def _is_broken(self, method: str, options: dict[str, Any]) -> bool:
        self.requests.append((method, options))
        return len(self.requests) - 1 in self._breaks_at


class BrokenAnswer:
    """A response of which only the first part arrives."""

    def __init__(self, answer: httpx2.Response) -> None:
        self._answer = answer
        self.is_error, self.status_code, self.headers = answer.is_error, answer.status_code, answer.headers

    def iter_bytes(self, _: int) -> Iterator[bytes]:
        yield self._answer.read()[:PART]
        raise httpx2.ReadError("the cable was cut")


class FullDisk(HeadFileStore):
    """As if the disk of the node had no space for a file."""

    def get(self, key: str, path: Path) -> None:
        raise FileStoreError(f"cannot write {path}") from OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceRig]:
    made = ServiceRig(tmp_path / "head")
    yield made
    made.close()


@pytest.fixture
def node(tmp_path: Path) -> DataDirectory:
    data = DataDirectory(tmp_path / "node")
    data.prepare()
    return data


def _store(service: ServiceRig, *breaks_at: int, kind: type[HeadFileStore] = HeadFileStore) -> HeadFileStore:
    return kind(_client(service, *breaks_at), part_bytes=PART, sleep=lambda _: None)  # type: ignore[arg-type]


def _client(service: ServiceRig, *breaks_at: int) -> BrokenConnection:
    return BrokenConnection(service.client(Role.NODE, service.node_service()), breaks_at=set(breaks_at))


def _assignment(service: ServiceRig, node: DataDirectory, number: int = 0, **changes: Any) -> Assignment:
    """A running attempt on the node; its folder exists there."""
    sweep_id = changes.pop("sweep_id", None) or service.sweep()
    trial_id = service.trial(sweep_id, number, None, model=False, device=DEVICE)
    folder = node.attempt(sweep_id, number, 1, nonce(number))
    folder.mkdir(parents=True)
    return Assignment(sweep_id, trial_id, number, 1, {}, 1, "loss", {}, {}, str(folder), "/", **changes)


def _agent(store: HeadFileStore, node: DataDirectory) -> NodeAgent:
    return NodeAgent(store, node, lambda: 0.5, check_interval_s=3600.0)


def test_upload_that_is_cut_in_the_middle_continues(service: ServiceRig, node: DataDirectory, tmp_path: Path) -> None:
    assignment = _assignment(service, node)
    key = f"{node.relative(Path(assignment.directory))}/model.safetensors"
    (tmp_path / "file").write_bytes(CONTENT)
    client = _client(service, 2, 4)
    store = HeadFileStore(client, part_bytes=PART, sleep=lambda _: None)  # type: ignore[arg-type]
    store.put(key, tmp_path / "file", hashlib.sha256(CONTENT).hexdigest())
    assert (service.data.root / key).read_bytes() == CONTENT
    sent = [options["params"]["offset"] for _, options in client.requests]
    assert sent == [0, 1000, 2000, 2000, 3000, 3000, 4000, 5000], "only parts without an answer are sent again"


def test_fetch_that_is_cut_in_the_middle_continues(service: ServiceRig, node: DataDirectory, tmp_path: Path) -> None:
    assignment = _assignment(service, node)
    key = f"{node.relative(Path(assignment.directory))}/checkpoint.safetensors"
    (service.data.root / key).parent.mkdir(parents=True)
    (service.data.root / key).write_bytes(CONTENT)
    client = _client(service, 0, 1)
    store = HeadFileStore(client, sleep=lambda _: None)  # type: ignore[arg-type]
    store.get(key, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == CONTENT
    assert [options["headers"].get("range") for _, options in client.requests] == [None, "bytes=1000-", "bytes=2000-"]


def test_agent_that_is_restarted_during_an_upload_continues_it(service: ServiceRig, node: DataDirectory) -> None:
    assignment = _assignment(service, node)
    (Path(assignment.directory) / "model.safetensors").write_bytes(CONTENT)
    cut = HeadFileStore(_client(service, 3), part_bytes=PART, patience_s=0.0)  # type: ignore[arg-type]
    assert isinstance(_agent(cut, node).handle(SendFiles(assignment, checkpoints=False)), FilesFailed)
    client = _client(service)
    again = HeadFileStore(client, part_bytes=PART)  # type: ignore[arg-type]
    assert _agent(again, node).handle(SendFiles(assignment, checkpoints=False)) == FilesReady(0.5)
    assert [options["params"]["offset"] for _, options in client.requests] == [0, 4000, 5000]
    key = f"{node.relative(Path(assignment.directory))}/model.safetensors"
    assert (service.data.root / key).read_bytes() == CONTENT


def test_full_disk_of_the_node_is_the_cause_of_the_failed_attempt(service: ServiceRig, node: DataDirectory) -> None:
    assignment = _assignment(service, node, code=str(node.bundle("0" * 64)))
    reply = _agent(_store(service, kind=FullDisk), node).handle(FetchFiles(assignment))
    assert isinstance(reply, FilesFailed) and reply.cause is Cause.DISK_FULL
    assert reply.message.startswith("no space left on the disk of the data directory of this node: cannot write")


def test_what_a_slot_that_died_has_left_is_removed(service: ServiceRig, node: DataDirectory) -> None:
    running = _assignment(service, node)
    service.trial(running.sweep_id, 1, 0.5, model=False, device=DEVICE)  # it has finished elsewhere
    left = node.attempt(running.sweep_id, 1, 1, nonce(1))
    left.mkdir(parents=True)
    (left / "log").write_text("lost")
    agent = _agent(_store(service), node)
    agent.remove_leftovers()
    assert not left.parent.exists() and Path(running.directory).exists()
    service.end_sweep(running.sweep_id)


def test_checkpoints_of_earlier_attempts_stay_while_a_trial_runs_on_the_node(
    service: ServiceRig, node: DataDirectory
) -> None:
    running = _assignment(service, node)
    earlier = node.attempt(running.sweep_id, 0, 1, "0" * 8)  # its nonce is that of no attempt
    earlier.mkdir(parents=True)
    _agent(_store(service), node).remove_leftovers()
    assert earlier.exists()
