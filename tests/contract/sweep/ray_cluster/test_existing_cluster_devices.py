"""The supervisors of an existing Ray cluster when another scheduler may have taken over. Ray is replaced by actors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import ray
from ray.exceptions import ActorDiedError, RayError, RayTaskError

from podium.sweep.lifecycle.slot_demand import SlotDemand
from podium.sweep.ray_cluster import existing_cluster_devices, node_services_actor_manager
from podium.sweep.ray_cluster.existing_cluster_devices import ExistingClusterDevices
from podium.sweep.ray_cluster.node_services_actor import supervisor_name
from podium.sweep.ray_cluster.node_services_actor_manager import HeadAccess
from podium.sweep.ray_cluster.ray_nodes_with_slots import ClusterNode
from podium.sweep.ray_cluster.ray_slot_actor import SupervisedNode
from podium.sweep.runtime.existing_cluster_mode import ExistingCluster
from podium.sweep.runtime.package_versions import versions
from podium.sweep.values.errors import DatabaseError, FencedError
from podium.sweep.values.excluded_ray_node import RefusedNode

NODES = {"id-b": ClusterNode("id-b", "b", 4, 0)}
Answer = SupervisedNode | str | Exception | tuple[str, dict[str, str]]
LEADS: Callable[[], None] = lambda: None  # noqa: E731
FENCED = RayTaskError("start", "", FencedError("epoch 2"), proctitle="supervisor", pid=1, ip="10.0.0.1")


class FakeSupervisor:
    """A supervisor, or a probe, whose answer the test chooses. A method returns its answer as the reference to it."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.start = self.watch = self.find = self

    def remote(self, *_: object) -> FakeSupervisor:
        return self


class FakeRay:
    """One node with the supervisor of an earlier scheduler, and a lease."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: SupervisedNode | str | Exception) -> None:
        self.supervisor = FakeSupervisor(answer)
        self.killed: list[Any] = []
        self.confirm = LEADS
        self.now_s = 0.0
        self.shown: list[dict[str, RefusedNode]] = []
        self.show_error: DatabaseError | None = None
        monkeypatch.setattr(node_services_actor_manager, "list_named_actors", lambda: [supervisor_name("id-b", "b")])
        monkeypatch.setattr(existing_cluster_devices, "draining_nodes", frozenset)
        monkeypatch.setattr(ray, "get_actor", lambda _: self.supervisor)
        monkeypatch.setattr(ray, "wait", lambda references, **_: (references, []))
        monkeypatch.setattr(ray, "get", _get)
        monkeypatch.setattr(ray, "kill", lambda actor, **_: self.killed.append(actor))
        self.devices = ExistingClusterDevices(
            ExistingCluster("10.0.0.9:6379"),
            HeadAccess("https://10.0.0.2:8700", "token", "certificate", epoch=1),
            kind="cpu",
            namespace="podium-test",
            confirm=lambda: self.confirm(),
            show_refused=self.show,
            clock=lambda: self.now_s,
        )

    def show(self, refused: Mapping[str, RefusedNode]) -> None:
        """Keep what is shown, unless the test has an error for it."""
        if self.show_error is not None:
            raise self.show_error
        self.shown.append(dict(refused))

    def turn(self, nodes: Mapping[str, ClusterNode] = NODES) -> None:
        self.devices.places(nodes, ())


def _get(reference: FakeSupervisor) -> SupervisedNode | str | tuple[str, dict[str, str]]:
    if isinstance(reference.answer, Exception):
        raise reference.answer
    return reference.answer


def _fenced() -> None:
    raise FencedError("another scheduler has taken over, as played")


def _unknown() -> None:
    raise DatabaseError("no connection, as played")


@pytest.mark.parametrize("error", [FENCED, FENCED.as_instanceof_cause(), FencedError("epoch 2")])
def test_supervisor_of_the_next_scheduler_is_not_killed(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Its guardian, slots and trials would end with it."""
    fake = FakeRay(monkeypatch, error)
    with pytest.raises(FencedError, match="epoch 2"):
        fake.turn()
    assert fake.killed == []


@pytest.mark.parametrize("answer", [ActorDiedError(), RayError("lost"), "it has other settings"])
def test_supervisor_that_fails_is_killed_only_by_the_scheduler_of_now(
    monkeypatch: pytest.MonkeyPatch, answer: str | Exception
) -> None:
    fake = FakeRay(monkeypatch, answer)
    for fake.confirm, raised in ((_unknown, DatabaseError), (_fenced, FencedError)):
        with pytest.raises(raised, match="as played"):
            fake.turn()
        assert fake.killed == []
    fake.confirm = LEADS
    fake.turn()
    assert fake.killed == [fake.supervisor]


def test_idle_supervisor_is_killed_only_by_the_scheduler_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeRay(monkeypatch, SupervisedNode("/data", "/template", "/agent", 660.0))
    fake.confirm = _fenced
    fake.turn()
    fake.now_s = 11.0
    with pytest.raises(FencedError, match="as played"):
        fake.turn()
    assert fake.killed == []
    fake.confirm = LEADS
    fake.turn()
    assert fake.killed == [fake.supervisor]


@pytest.mark.parametrize(("confirm", "kills"), [(LEADS, True), (_fenced, False), (_unknown, False)])
def test_service_that_stops_leaves_what_may_belong_to_the_next_one(
    monkeypatch: pytest.MonkeyPatch, confirm: Callable[[], None], kills: bool
) -> None:
    fake = FakeRay(monkeypatch, SupervisedNode("/data", "/template", "/agent", 660.0))
    fake.turn()
    fake.confirm = confirm
    fake.devices.close(["slot-b:cpu-0"])
    assert bool(fake.killed) is kills


def test_node_with_another_version_is_shown_as_refused_while_it_is_in_the_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = {**versions(), "podium": "9.0"}
    fake = FakeRay(monkeypatch, SupervisedNode("/data", "/template", "/agent", 660.0))
    monkeypatch.setattr(existing_cluster_devices, "create_probe", lambda *_: FakeSupervisor(("id-old", found)))
    with_old = {**NODES, "id-old": ClusterNode("id-old", "old", 4, 2, ("10.0.0.7", 9))}
    fake.turn(with_old)
    assert fake.shown == [{}], "those of the scheduler before"
    fake.devices.request(SlotDemand(cpu=1))
    fake.turn(with_old)
    fake.show_error = DatabaseError("busy, as played")
    fake.turn(with_old)
    fake.show_error = FencedError("another scheduler has taken over, as played")
    with pytest.raises(FencedError, match="as played"):
        fake.turn(with_old)
    fake.show_error = None
    fake.turn(with_old)
    fake.turn(with_old)
    ((name, refused),) = fake.shown[-1].items()
    assert (name, refused.address, refused.cores, refused.gpus) == ("old", "10.0.0.7", 4, 2)
    assert refused.reason.startswith("this node has podium 9.0") and refused.versions == found
    fake.turn()
    assert len(fake.shown) == 3 and fake.shown[-1] == {}
