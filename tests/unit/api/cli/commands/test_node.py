"""`podium node`: the table of nodes, what its commands print, and their exit codes."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from podium.api.client.client import Client
from podium.db.stores import nodes
from podium.sweep.values.excluded_ray_node import RefusedNode
from tests.commands import Podium
from tests.node_reports import node_report
from tests.service_rig import ServiceRig


def report(service: ServiceRig, name: str, *, ago_s: float = 0.0, **changes: Any) -> None:
    with service.database.write() as connection:
        nodes.record_report(connection, node_report(name, **changes), time.time() - ago_s)


@pytest.fixture
def served(service: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> ServiceRig:
    """A service that every command finds, with a node of two devices and a silent node."""
    report(service, "b", address="10.0.0.6", disk_free_bytes=512_345_678_901, clock_offset_s=0.25)
    report(service, "c", ago_s=90.0, clock_offset_s=-7.0)
    for device_id in ("cpu-0", "b:cpu-0", "b:cpu-1"):
        service.device(device_id)
    monkeypatch.setattr(
        Client, "of", lambda _: Client("http://testserver", "token-of-admin", retry_s=0, http=service.client())
    )
    return service


def test_nodes_are_listed_as_a_table(podium: Podium, served: ServiceRig) -> None:
    code, out, err = podium("node", "list")
    assert (code, err) == (0, "")
    head, first, second = (line.split() for line in out.splitlines())
    assert " ".join(head) == "node state address busy disk free clock offset last report"
    assert first[:-3] == ["b", "ready", "10.0.0.6", "0", "of", "2", "512", "GB", "+0.25", "s"]
    assert second[:2] == ["c", "silent"]
    assert second[-5:-3] == ["-7.00", "s"]
    assert 90 <= int(second[-3]) < 100


@pytest.fixture
def refused(served: ServiceRig) -> str:
    """The reason why the service does not use the node `old`."""
    reason = "this node has podium 9.0"
    with served.database.write() as connection:
        nodes.set_refused(connection, {"old": RefusedNode("10.0.0.9", {}, 4, 0, reason)}, time.time())
    return reason


def test_refused_node_is_listed_with_the_reason(podium: Podium, refused: str) -> None:
    *_, row, reason = podium("node", "list")[1].splitlines()
    assert row.split() == ["old", "refused", "10.0.0.9", "0", "of", "0"]
    assert reason == f"old is not used: {refused}"


def test_refused_node_cannot_be_removed(podium: Podium, refused: str) -> None:
    code, _, said = podium("node", "remove", "old")
    assert code == 1 and f"the service does not use old: {refused}; take it out" in " ".join(said.split())


def test_nodes_are_listed_as_json(podium: Podium, served: ServiceRig) -> None:
    found = json.loads(podium("node", "list", "--json")[1])
    assert [(node["name"], node["devices"]) for node in found] == [("b", ["b:cpu-0", "b:cpu-1"]), ("c", [])]


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        (("drain", "b", "--reason", "a new disk comes"), "b is drained\n"),
        (("return", "b"), "b is ready\n"),
        (("remove", "b"), "b leaves when its running trials have ended\n"),
        (("remove", "b", "--now"), "b leaves\n"),
        (("remove", "c"), "c was silent and is forgotten\n"),
    ],
    ids=str,
)
def test_command_prints_what_becomes_of_the_node(
    podium: Podium, served: ServiceRig, command: tuple[str, ...], printed: str
) -> None:
    assert podium("node", *command) == (0, printed, "")


def test_reason_of_a_drained_node_is_that_of_its_devices(podium: Podium, served: ServiceRig) -> None:
    podium("node", "drain", "b", "--reason", "a new disk comes")
    assert podium("devices")[1].count("a new disk comes") == 2


@pytest.mark.parametrize("command", ["drain", "return", "remove"])
def test_unknown_node_exits_1_and_the_others_are_processed(podium: Podium, served: ServiceRig, command: str) -> None:
    code, out, err = podium("node", command, "x", "b")
    assert (code, err) == (1, "there is no node 'x'; known: b, c\n")
    assert out.startswith("b ")
