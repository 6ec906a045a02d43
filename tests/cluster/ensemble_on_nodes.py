"""An ensemble with a member on the head and on each of two nodes, and a client that sends predictions."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2

from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from tests.cluster.cluster_rig import Cluster
from tests.cluster.machines import Machine
from tests.running_service import wait_for

DEADLINE_MS = 1000
MAX_ANSWER_MS = DEADLINE_MS + 50
SWEEP = {
    "name": "members", "method": "random", "metric": {"name": "val_loss", "goal": "minimize"}, "run_cap": 3,
    "program": {"model": "mlp", "data": {"name": "digits"}},
    "parameters": {"lr": {"min": 0.001, "max": 0.1, "log": True}, "epochs": {"value": 1}},
}  # fmt: skip
OPTIONS = (
    "--members", "3", "--mode", "between_graph", "--quorum", "2", "--deadline-ms", str(DEADLINE_MS),
)  # fmt: skip
FEATURES = 64


class Answer(NamedTuple):
    """One prediction as its client saw it."""

    sent_s: float
    took_ms: float
    status: int
    members: int  # that answered


class Place(NamedTuple):
    """Where a member runs."""

    state: str
    device: str
    pid: int
    epoch: int
    endpoint: str


class Ensemble:
    """Three members on three machines. The gateway is reached through its Unix socket."""

    def __init__(self, cluster: Cluster, nodes: list[Machine], name: str) -> None:
        self.nodes = nodes
        self._name = name
        self._cluster = cluster
        socket = RuntimeDirectory(cluster.head.folder / "run").gateway_socket("gateway")
        self._client = httpx2.Client(
            transport=httpx2.HTTPTransport(uds=str(socket)), base_url="http://localhost", timeout=30.0,
            headers={"authorization": f"Bearer {cluster.data.admin_token.read_text().strip()}"},
        )  # fmt: skip

    def places(self) -> list[Place]:
        """Of the members, in their order."""
        query = (
            "SELECT r.state, r.device_id, r.pid, r.epoch, r.endpoint FROM replicas r"
            " JOIN ensemble_members m ON m.id = r.member_id JOIN ensembles e ON e.id = m.ensemble_id"
            " WHERE e.name = :name ORDER BY r.id"
        )
        return [Place(*row) for row in self._cluster.rows(query, name=self._name)]

    def on(self, node: Machine) -> Place:
        """The member on a node."""
        return next(place for place in self.places() if place.device == f"{node.name}:cpu-0")

    def predict(self) -> Answer:
        sent_s = time.monotonic()
        answer = self._client.post(f"/api/v1/ensembles/{self._name}/predict", json={"inputs": [[0.5] * FEATURES]})
        took_ms = (time.monotonic() - sent_s) * 1000
        return Answer(sent_s, took_ms, answer.status_code, answer.json().get("answered", 0))

    def add(self, name: str) -> None:
        """Another node, on which no member runs."""
        self.nodes.append(self._cluster.join_by_command(name, slots=1))

    def remove(self, node: Machine) -> None:
        """Ask a node to leave."""
        self._cluster.command("node", "remove", node.name, "--json")

    def is_complete(self) -> bool:
        """Whether all members answer."""
        return self.predict().members == 3

    def is_ready(self) -> bool:
        """Whether all members are ready."""
        return [place.state for place in self.places()] == ["ready"] * 3

    def wait_for_new(self, before: Place) -> None:
        """Wait until another process has replaced a member, on whatever machine."""

        wait_for("the member is replaced", lambda: before not in self.places() and self.is_ready(), 60.0)

    def close(self) -> None:
        self._client.close()


class Client:
    """Sends one prediction after the other in a thread."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.answers: list[Answer] = []
        self._ensemble = ensemble
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Client:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(0.02):
            self.answers.append(self._ensemble.predict())


@contextmanager
def ensemble_on_nodes(cluster: Cluster, names: tuple[str, str], folder: Path) -> Iterator[Ensemble]:
    """Build an ensemble on the head and two new nodes; take the nodes out at the end. `folder`: of the sweep."""
    nodes = [cluster.join_by_command(name, slots=1) for name in names]
    try:
        with _built(cluster, nodes, folder) as started:
            yield started
    finally:
        for node in nodes:
            cluster.take_out(node)


@contextmanager
def _built(cluster: Cluster, nodes: list[Machine], folder: Path) -> Iterator[Ensemble]:
    sweep_id = cluster.submit(SWEEP, folder)
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", 120.0)
    name = f"on-{'-'.join(node.name for node in nodes)}"
    cluster.command("ensemble", "build", str(sweep_id), *OPTIONS, "--name", name, "--no-wait", "--json")
    started = Ensemble(cluster, nodes, name)
    try:
        wait_for("all members are ready", started.is_ready, 60.0)
    except BaseException:
        _print_logs(cluster, nodes)
        raise
    try:
        yield started
    finally:
        started.close()
        cluster.command("ensemble", "retire", name, "--json")


def _print_logs(cluster: Cluster, nodes: list[Machine]) -> None:
    logs = [*cluster.data.logs.glob("*.log")]
    logs += [path for node in nodes for path in (node.folder / "data" / "logs").glob("*.log")]
    for path in logs:
        print(f"--- {path}\n{path.read_text()[-3000:]}")
