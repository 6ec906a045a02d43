"""The nodes of the cluster: the head, those with the label of the service, and no others."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest
import ray

from podium.sweep.ray_cluster.ray_nodes_with_slots import NODE_LABEL, ClusterNode, alive_nodes


def _node(node_id: str, name: str = "", *, alive: bool = True, **resources: float) -> dict[str, Any]:
    return {
        "NodeID": node_id, "Alive": alive, "NodeManagerAddress": "10.0.0.1", "NodeManagerPort": 4000,
        "Resources": resources, "Labels": {NODE_LABEL: name} if name else {"ray.io/node-id": node_id},
    }  # fmt: skip


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What Ray lists; this process is on the node `head`."""
    nodes = [_node("head", CPU=8.0)]
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    monkeypatch.setattr(ray, "get_runtime_context", lambda: SimpleNamespace(get_node_id=lambda: "head"))
    return nodes


def test_head_is_unnamed_and_labeled_nodes_have_their_names(listed: list[dict[str, Any]]) -> None:
    listed += [_node("x", "b", CPU=4.0, GPU=2.0), _node("y"), _node("z", "c", alive=False)]
    raylet = ("10.0.0.1", 4000)
    assert alive_nodes() == {
        "head": ClusterNode("head", "", 8, 0, raylet),
        "x": ClusterNode("x", "b", 4, 2, raylet),
    }


@pytest.mark.parametrize("reachable", [True, False])
def test_second_node_of_a_name_replaces_one_that_cannot_be_reached(
    listed: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, reachable: bool
) -> None:
    """Otherwise the first keeps its name: a name that moved would be the loss of the slots of both."""
    listed += [_node("fff1111", "b")]
    known = alive_nodes()
    listed += [_node("aaa2222", "b")]
    monkeypatch.setattr(ClusterNode, "is_reachable", lambda node: reachable or node.node_id == "aaa2222")
    both = alive_nodes(known)
    names = {node_id: node.name for node_id, node in both.items()}
    if reachable:
        assert names == {"head": "", "fff1111": "b", "aaa2222": "b-aaa222"}
        del listed[1]
        assert {node.node_id: node.name for node in alive_nodes(both).values()} == {"head": "", "aaa2222": "b-aaa222"}
    else:
        assert names == {"head": "", "aaa2222": "b"}
        assert alive_nodes(both) == both, "the first is still listed"


def test_dead_node_of_a_name_does_not_return_while_its_successor_is_cut_off(
    listed: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray lists the dead one as alive for many seconds, in which the network of the other may be interrupted."""
    listed += [_node("aaa1111", "b"), _node("fff2222", "b")]
    reachable = {"fff2222"}
    monkeypatch.setattr(ClusterNode, "is_reachable", lambda node: node.node_id in reachable)
    successor = alive_nodes()
    assert successor.keys() == {"head", "fff2222"}
    reachable.clear()
    assert alive_nodes(successor) == successor


def test_list_without_the_head_is_refused(listed: list[dict[str, Any]]) -> None:
    """It would be the loss of every slot."""
    listed[:] = [_node("x", "b")]
    with pytest.raises(LookupError, match="does not list the node of this process"):
        alive_nodes()


def test_node_is_reachable_while_its_raylet_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as raylet:
        node = ClusterNode("x", "b", 1, 0, raylet.getsockname())
        assert node.is_reachable()
    assert not node.is_reachable()
