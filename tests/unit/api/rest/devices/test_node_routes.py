"""Nodes over REST: list, drain, return, remove."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from podium.db.access.tokens import Role
from podium.db.stores import nodes
from podium.sweep.lifecycle.database_changes import AttemptPlaced, TrialPlanned
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.excluded_ray_node import RefusedNode
from tests.node_reports import node_report
from tests.service_rig import AT, ServiceRig, assert_problem
from tests.unit.api.rest.states import V1, R, kinds, sweep_in

NODES = f"{V1}/nodes"


def report(service: ServiceRig, name: str = "b", *, ago_s: float = 0.0, **changes: Any) -> bool:
    """Store a report, received `ago_s` ago; returns whether the node shall leave."""
    with service.database.write() as connection:
        return nodes.record_report(connection, node_report(name, **changes), time.time() - ago_s)


def run_trial_on(service: ServiceRig, device_id: str) -> None:
    sweep_id = sweep_in(service, R)
    service.commit(
        TrialPlanned(1, sweep_id, 0, {"lr": 0.01}, "random", {}, AT),
        AttemptPlaced(AttemptKey(1, 1), sweep_id, 0, device_id, "host-b", AT, ""),
    )


def states(client: TestClient, url: str = f"{V1}/devices") -> dict[str, str]:
    return {each.get("id", each.get("name")): each["state"] for each in client.get(url).json()}


def test_service_without_nodes_lists_none(client: TestClient, service: ServiceRig) -> None:
    service.device()
    assert client.get(NODES).json() == []


def test_node_is_listed_with_its_report_and_devices(client: TestClient, service: ServiceRig) -> None:
    report(service, clock_offset_s=-1.5, uploads_waiting=3)
    for device_id in ("cpu-0", "b:cpu-0", "b:cpu-1"):
        service.device(device_id)
    run_trial_on(service, "b:cpu-1")
    (found,) = client.get(NODES).json()
    times = [datetime.fromisoformat(found.pop(name)).timestamp() for name in ("joined_at", "reported_at")]
    assert times == [pytest.approx(time.time(), abs=5)] * 2
    reported = node_report("b", clock_offset_s=-1.5, uploads_waiting=3).to_dict()
    for name in ("member_port", "certificate", "left_folders", "left_processes"):  # of the host, and of the doctor
        del reported[name]
    assert found == {
        **reported,
        "state": "ready",
        "devices": ["b:cpu-0", "b:cpu-1"],
        "busy": 1,
        "refused": "",
    }


def test_node_that_does_not_report_is_silent(client: TestClient, service: ServiceRig) -> None:
    report(service, "b", ago_s=16.0)
    report(service, "c")
    assert states(client, NODES) == {"b": "silent", "c": "ready"}


def test_refused_node_is_listed_with_the_reason_and_not_removed(client: TestClient, service: ServiceRig) -> None:
    with service.database.write() as connection:
        old = RefusedNode("10.0.0.9", {"podium": "9.0"}, 4, 0, "this node has podium 9.0")
        nodes.set_refused(connection, {"old": old}, time.time())
    (found,) = client.get(NODES).json()
    assert (found["state"], found["refused"], found["podium_version"]) == ("refused", old.reason, "9.0")
    assert_problem(client.delete(f"{NODES}/old"), 409)


def test_all_devices_of_a_node_are_drained_and_returned(client: TestClient, service: ServiceRig) -> None:
    report(service)
    for device_id in ("cpu-0", "b:cpu-0", "b:cpu-1", "b2:cpu-0"):
        service.device(device_id)
    assert client.post(f"{NODES}/b/drain", json={"reason": "a new disk comes"}).json()["state"] == "drained"
    assert states(client) == {"cpu-0": "ready", "b:cpu-0": "drained", "b:cpu-1": "drained", "b2:cpu-0": "ready"}
    assert {device["reason"] for device in client.get(f"{V1}/devices").json()} == {"", "a new disk comes"}
    assert client.post(f"{NODES}/b/return").json()["state"] == "ready"
    assert set(states(client).values()) == {"ready"}
    assert kinds(service).count("device.drained") == kinds(service).count("device.returned") == 2
    assert_problem(client.post(f"{NODES}/b/drain", json={"reason": ""}), 422)


def test_removed_node_leaves_when_its_trials_have_ended(client: TestClient, service: ServiceRig) -> None:
    report(service)
    service.device("b:cpu-0")
    run_trial_on(service, "b:cpu-0")
    assert client.delete(f"{NODES}/b").json() == {"name": "b", "forgotten": False}
    assert states(client, NODES) == {"b": "leaving"}
    (device,) = client.get(f"{V1}/devices").json()
    assert (device["state"], device["reason"]) == ("drained", "its node leaves")
    assert not report(service)


def test_removed_node_stays_if_it_is_returned(client: TestClient, service: ServiceRig) -> None:
    report(service)
    service.device("b:cpu-0")
    client.delete(f"{NODES}/b", params={"now": True})
    assert client.post(f"{NODES}/b/return").json()["state"] == "ready"
    assert set(states(client).values()) == {"ready"}
    assert not report(service)


def test_node_that_is_removed_now_does_not_wait_for_its_trials(client: TestClient, service: ServiceRig) -> None:
    report(service)
    service.device("b:cpu-0")
    run_trial_on(service, "b:cpu-0")
    assert client.delete(f"{NODES}/b", params={"now": True}).json() == {"name": "b", "forgotten": False}
    assert report(service)


def test_silent_node_is_forgotten_at_once(client: TestClient, service: ServiceRig) -> None:
    report(service, ago_s=60.0)
    assert client.delete(f"{NODES}/b").json() == {"name": "b", "forgotten": True}
    assert client.get(NODES).json() == []
    assert_problem(client.delete(f"{NODES}/b"), 404, "there is no node 'b'; known: none yet")


@pytest.mark.parametrize(("method", "path"), [("POST", "/c/drain"), ("POST", "/c/return"), ("DELETE", "/c")])
def test_unknown_node_is_404_and_commands_require_the_role_admin(
    client: TestClient, service: ServiceRig, method: str, path: str
) -> None:
    report(service)
    assert_problem(client.request(method, NODES + path), 404, "there is no node 'c'; known: b")
    assert_problem(service.client(Role.SUBMITTER).request(method, NODES + path), 403, "admin")
