"""How nodes join, report and leave."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from podium.db.access.tokens import Role
from podium.db.stores import nodes
from podium.sweep.runtime.package_versions import versions
from tests.node_reports import node_report
from tests.service_rig import ServiceRig, assert_problem


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceRig]:
    made = ServiceRig(tmp_path / "head")
    made.settings = replace(made.settings, cluster="10.0.0.5")
    made.data.ray_token.write_text("the token of Ray")
    yield made
    made.close()


@pytest.fixture
def node(service: ServiceRig) -> TestClient:
    return service.client(Role.NODE, service.node_service())


def join(node: TestClient, **changes: Any) -> Any:
    body = {"name": "b", "address": "10.0.0.6", "versions": versions(), **changes}
    return node.post("/internal/v1/join", json=body)


def report(node: TestClient, **changes: Any) -> Any:
    return node.post("/internal/v1/reports", json=node_report(**changes).to_dict()).json()


def test_node_gets_what_it_needs_to_join(node: TestClient) -> None:
    answer = join(node).json()
    assert (answer["ray_address"], answer["ray_token"]) == ("10.0.0.5:6379", "the token of Ray")


@pytest.mark.parametrize(
    ("package", "version", "sentence"),
    [
        ("podium", "99.0", "this node has podium 99.0, and the head has {podium}; install that version"),
        ("ray", "1.0", "this node has ray 1.0, and the head has {ray}; install that version"),
        ("python", "3.9.1", "this node has python 3.9, and the head has"),
    ],
)
def test_node_with_another_version_is_refused(node: TestClient, package: str, version: str, sentence: str) -> None:
    answer = join(node, versions={**versions(), package: version})
    assert_problem(answer, 409, sentence.format(**versions()))


def test_node_with_another_patch_version_of_python_can_join(node: TestClient) -> None:
    major, minor, _ = versions()["python"].split(".")
    assert join(node, versions={**versions(), "python": f"{major}.{minor}.99"}).status_code == 200


def test_node_that_joins_again_must_still_leave(service: ServiceRig, node: TestClient) -> None:
    report(node, address="10.0.0.6")
    with service.database.write() as connection:
        nodes.ask_to_leave(connection, "b", time.time())
    assert join(node, again=True).status_code == 200, "its connection was lost"
    assert report(node)["leave"] is True


def test_name_of_the_head_is_refused(node: TestClient) -> None:
    assert_problem(join(node, name="head"), 409, "head is the name of this machine", "--name")


def test_name_of_a_connected_node_is_refused(service: ServiceRig, node: TestClient) -> None:
    report(node, address="10.0.0.6")
    with service.database.write() as connection:
        nodes.ask_to_leave(connection, "b", time.time())
    assert join(node, address="10.0.0.6").status_code == 200, "it is the same node"
    assert report(node)["leave"] is False, "it was started again after it had left"
    assert_problem(join(node, address="10.0.0.7"), 409, "a node named b is connected from 10.0.0.6", "--name")
    with service.database.write() as connection:
        nodes.record_report(connection, node_report(address="10.0.0.6"), time.time() - 60.0)
    assert join(node, address="10.0.0.7").status_code == 200, "that node is silent"


@pytest.mark.parametrize("name", ["", "a b", "../b", "a:b", "x" * 64])
def test_name_that_is_none_is_refused(node: TestClient, name: str) -> None:
    assert_problem(join(node, name=name), 422, "name")


def test_report_is_stored_and_says_the_time(service: ServiceRig, node: TestClient) -> None:
    before = time.time()
    answer = report(node)
    assert before <= answer["received_at"] <= answer["sent_at"] <= time.time()
    assert answer["leave"] is False
    with service.database.read() as connection:
        assert [row.name for row in nodes.all_of(connection)] == ["b"]


def test_wrong_report_is_refused(node: TestClient) -> None:
    body = {**node_report().to_dict(), "cores": -1}
    assert_problem(node.post("/internal/v1/reports", json=body), 400, "cores")


def test_node_that_was_asked_to_leave_is_told_so_and_forgotten(service: ServiceRig, node: TestClient) -> None:
    report(node)
    with service.database.write() as connection:
        nodes.ask_to_leave(connection, "b", time.time())
    assert report(node)["leave"] is True
    for _ in range(2):
        assert node.post("/internal/v1/leave", json={"name": "b"}).status_code == 200
    with service.database.read() as connection:
        assert nodes.all_of(connection) == []
