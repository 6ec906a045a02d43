"""Host and agent of a node: a worker is started, followed, found again and killed, and only the head may ask for it."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from podium.ensemble.host.cluster_worker_launcher import AgentAddress, ClusterWorkerLauncher
from podium.ensemble.host.node_worker_handle import FollowTimes, NodeWorkerHandle
from podium.ensemble.host.node_worker_messages import FindWorker, LaunchWorker, decode_request, encode_request
from podium.ensemble.host.worker_launcher_interface import OnChange, WorkerConfig, WorkerStatus
from podium.ensemble.node_members.member_service import MemberService
from podium.ensemble.worker.control_messages import Phase, WorkerAssignment
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.sweep.runtime.certificate_pin import listening_context
from podium.sweep.values.errors import FileStoreError, MissingFileError
from tests.certificates import HOST, Identity
from tests.host_rig import FakeWorkerLauncher

PATIENCE_S = 30.0
QUICK = FollowTimes(ping_s=0.05, silent_s=0.5, check_interval_s=0.02, retry_s=0.02)


class FakeProcess:
    """A worker on the node."""

    def __init__(self, config: WorkerConfig, on_change: OnChange) -> None:
        self.config = config
        self.status = WorkerStatus(Phase.WARMING, pid=17)
        self.polls = 0
        self.killed = threading.Event()
        self.left = threading.Event()
        self.on_change = on_change

    def poll(self) -> WorkerStatus:
        self.polls += 1
        return self.status

    def kill(self) -> None:
        self.killed.set()

    def close(self) -> None:
        self.left.set()

    def become(self, status: WorkerStatus) -> None:
        self.status = status
        self.on_change()


class Node:
    """The agent of a node with fake workers, and the launcher of the head."""

    def __init__(self, folder: Path) -> None:
        self.own, self.head, self.stranger = (Identity.make(folder, name) for name in ("node", "head", "stranger"))
        self.processes: dict[str, FakeProcess] = {}
        self.fails: Exception | None = None
        self.kept: list[Collection[str]] = []
        self.kills = threading.Event()
        self.kills.set()
        self.start()
        self.launcher = self.launcher_of(self.head)

    def start(self) -> None:
        """Start the agent, also again: its port is then another one."""
        self.service = MemberService(self.own.listening(self.head), self, self._fetch, silent_s=0.5)
        self.service.start()

    def launcher_of(self, identity: Identity) -> ClusterWorkerLauncher:
        return ClusterWorkerLauncher(FakeWorkerLauncher(), self._agents, identity.connecting)

    def follow(self, name: str = "worker-1", *, launch: bool = True) -> NodeWorkerHandle:
        """With short times."""
        return NodeWorkerHandle(config(name), self.connect, lambda: None, launch=launch, times=QUICK)

    def process(self, name: str = "worker-1") -> FakeProcess:
        until(lambda: name in self.processes)
        return self.processes[name]

    def _agents(self) -> dict[str, AgentAddress]:
        return {"b": AgentAddress(HOST, self.service.port, self.service.fingerprint)}

    def connect(self) -> ssl.SSLSocket:
        return self.head.connecting.wrap_socket(socket.create_connection((HOST, self.service.port), timeout=5.0))

    def _fetch(self, file: ModelFile) -> ModelFile:
        if self.fails is not None:
            raise self.fails
        return replace(file, path=f"/node/{file.path}")

    # `MemberLauncher`

    def launch(self, config: WorkerConfig, on_change: OnChange) -> FakeProcess:
        started = self.processes[config.assignment.name] = FakeProcess(config, on_change)
        return started

    def find(self, config: WorkerConfig, on_change: OnChange) -> FakeProcess | None:
        found = self.processes.get(config.assignment.name)
        if found is not None:
            found.on_change = on_change
        return found

    def kill_all_except(self, names: Collection[str]) -> None:
        self.kept.append(names)
        assert self.kills.wait(PATIENCE_S)
        for name in self.processes.keys() - set(names):
            self.processes[name].kill()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    started = Node(tmp_path)
    yield started
    started.service.close()


def config(name: str = "worker-1") -> WorkerConfig:
    file = ModelFile("trials/1/0/1-0a0a0a0a/model.safetensors", "0a" * 32, 0)
    assignment = WorkerAssignment(name, (file,), False, "", 3, 64, "{}", 1)
    return WorkerConfig(assignment, ("b:cpu-0",), "b", "")


def until(condition: Callable[[], bool]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.005)


def test_requests_as_lines() -> None:
    for request in (LaunchWorker(config()), FindWorker(config())):
        assert decode_request(encode_request(request)) == request
    with pytest.raises(ValueError, match="not a request"):
        decode_request(encode_request(FindWorker(config())).replace(b"find", b"exec"))


def test_worker_is_started_with_files_of_its_node_and_followed(node: Node) -> None:
    worker = node.launcher.launch(config(), lambda: None)
    process = node.process()
    assignment = process.config.assignment
    assert assignment.files[0].path == "/node/trials/1/0/1-0a0a0a0a/model.safetensors"
    assert assignment.tls == node.own.listening(node.head)
    assert assignment.host_silence_s is not None
    until(lambda: worker.poll().phase is Phase.WARMING)
    process.become(WorkerStatus(Phase.READY, pid=17, endpoint="tls:x"))
    until(lambda: worker.poll() == WorkerStatus(Phase.READY, pid=17, endpoint="tls:x"))
    process.become(WorkerStatus(Phase.EXITED, "it was killed"))
    until(lambda: worker.poll() == WorkerStatus(Phase.EXITED, "it was killed"))
    assert not process.killed.is_set()


def test_killed_worker_is_killed_on_its_node(node: Node) -> None:
    worker = node.follow()
    process = node.process()
    worker.kill()
    assert process.killed.wait(PATIENCE_S)


@pytest.mark.parametrize(
    ("error", "phase"),
    [(MissingFileError("there is no file"), Phase.LOAD_FAILED), (FileStoreError("the head is busy"), Phase.EXITED)],
)
def test_missing_file_is_final_and_a_busy_head_is_not(node: Node, error: Exception, phase: Phase) -> None:
    node.fails = error
    worker = node.follow()
    until(lambda: worker.poll().phase is phase)
    assert worker.poll().reason == str(error)
    assert node.processes == {}


def test_worker_of_an_earlier_host_is_found(node: Node) -> None:
    node.follow()
    process = node.process()
    found = node.follow(launch=False)
    until(lambda: found.poll().pid == 17)
    found.kill()
    assert process.killed.wait(PATIENCE_S)
    missing = node.follow("worker-2", launch=False)
    until(lambda: missing.poll() == WorkerStatus(Phase.EXITED, "its process has exited"))


def test_restart_of_the_agent_starts_no_second_worker(node: Node) -> None:
    worker = node.follow()
    process = node.process()
    process.become(WorkerStatus(Phase.READY, pid=17))
    until(lambda: worker.poll().phase is Phase.READY)
    node.service.close()
    node.start()
    polls = process.polls
    until(lambda: process.polls > polls + 3)
    assert worker.poll().phase is Phase.READY
    assert node.processes == {"worker-1": process}


def test_node_that_cannot_be_reached_is_lost(node: Node) -> None:
    node.service.close()
    worker = node.follow()
    until(lambda: worker.poll().phase is Phase.EXITED)
    assert "node b has not answered" in worker.poll().reason


def test_other_workers_are_killed(node: Node) -> None:
    node.launcher.kill_all_except(["worker-1"])
    until(lambda: node.kept == [("worker-1",)])


def test_worker_is_launched_only_when_others_have_been_killed(node: Node) -> None:
    node.kills.clear()
    node.launcher.kill_all_except(["worker-1"])
    until(lambda: node.kept == [("worker-1",)])
    worker = node.launcher.launch(config("worker-2"), lambda: None)
    time.sleep(0.3)
    assert node.processes == {}
    node.kills.set()
    assert not node.process("worker-2").killed.is_set()
    worker.kill()


@pytest.mark.parametrize("answer", [b"[]", b"{}", b'{"phase": "ready", "color": "red"}', b"\xff"])
def test_worker_whose_status_cannot_be_read_counts_as_exited(tmp_path: Path, answer: bytes) -> None:
    head, agent = (Identity.make(tmp_path, name) for name in ("head", "agent"))
    context = listening_context(agent.certificate, agent.key, head.pem)
    with socket.create_server((HOST, 0)) as server:

        def connect() -> ssl.SSLSocket:
            def serve() -> None:
                accepted, _ = server.accept()
                with accepted, context.wrap_socket(accepted, server_side=True) as connection:
                    connection.recv(1 << 16)
                    connection.sendall(answer + b"\n")

            threading.Thread(target=serve, daemon=True).start()
            return head.connecting.wrap_socket(socket.create_connection(server.getsockname(), timeout=5.0))

        worker = NodeWorkerHandle(config(), connect, lambda: None, launch=True, times=QUICK)
        until(lambda: worker.poll().phase is Phase.EXITED)


def test_stranger_starts_nothing(node: Node) -> None:
    worker = node.launcher_of(node.stranger).launch(config(), lambda: None)
    time.sleep(0.3)
    assert node.processes == {}
    assert worker.poll().phase is Phase.STARTING
    worker.kill()


def test_agent_with_another_certificate_gets_no_request(node: Node) -> None:
    address = AgentAddress(HOST, node.service.port, node.stranger.fingerprint)
    launcher = ClusterWorkerLauncher(FakeWorkerLauncher(), lambda: {"b": address}, node.head.connecting)
    worker = launcher.launch(config(), lambda: None)
    time.sleep(0.3)
    assert node.processes == {}
    worker.kill()


def test_host_that_is_silent_leaves_the_worker_alone(node: Node) -> None:
    connection = node.connect()
    connection.sendall(encode_request(LaunchWorker(config())))
    process = node.process()
    assert process.left.wait(PATIENCE_S)
    assert not process.killed.is_set()
    connection.close()
