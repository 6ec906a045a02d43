"""The nodes of the Ray cluster whose devices get slots; scheduler."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import ray

CONNECT_S = 1.0
NODE_LABEL = "podium-node"  # of a node that has joined this service: its name


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node that is alive."""

    node_id: str  # Ray's; a node that joins again has another one
    name: str  # "" for the head
    cpus: int
    gpus: int
    raylet: tuple[str, int] = ("", 0)  # its address and port

    def is_reachable(self) -> bool:
        """Whether its raylet accepts connections: Ray takes many seconds to notice that it does not."""
        return self._connection_error() is None

    def refuses_connections(self) -> bool:
        """Whether the machine answers that no raylet listens; False if it does not answer, which may pass."""
        return isinstance(self._connection_error(), ConnectionRefusedError)

    def _connection_error(self) -> OSError | None:
        try:
            socket.create_connection(self.raylet, timeout=CONNECT_S).close()
        except OSError as error:
            return error
        return None


def alive_nodes(known: Mapping[str, ClusterNode] | None = None) -> dict[str, ClusterNode]:
    """By Ray's id, the head, which is the node of this process, and the nodes with a label that names them.

    Other nodes of the cluster get no slots. A node keeps the name that it has in `known`, the nodes at the last look.
    One that joins with the name of another takes its place if the other cannot be reached: Ray lists a dead node as
    alive for many seconds. Otherwise it gets a part of its id as well. Raises `LookupError` if Ray does not list the
    head: then its list says nothing about the others either.
    """
    head_id = ray.get_runtime_context().get_node_id()
    listed = {str(each["NodeID"]): each for each in ray.nodes() if each["Alive"]}
    if head_id not in listed:
        raise LookupError("Ray does not list the node of this process as alive")
    found = {node_id: node for node_id, node in (known or {}).items() if node_id in listed}
    found[head_id] = _node(listed[head_id], "")
    for node_id in sorted(listed.keys() - found.keys()):
        if (wanted := str(listed[node_id].get("Labels", {}).get(NODE_LABEL, ""))) != "":
            _add(found, _node(listed[node_id], wanted))
    return found


def _add(found: dict[str, ClusterNode], node: ClusterNode) -> None:
    other = next((each for each in found.values() if each.name == node.name), None)
    if other is None:
        found[node.node_id] = node
    elif not other.is_reachable():
        del found[other.node_id]
        found[node.node_id] = node
    elif node.is_reachable():
        found[node.node_id] = replace(node, name=f"{node.name}-{node.node_id[:6]}")


def _node(about: Any, name: str) -> ClusterNode:
    resources = about["Resources"]
    return ClusterNode(
        str(about["NodeID"]), name, int(resources.get("CPU", 0)), int(resources.get("GPU", 0)),
        (str(about["NodeManagerAddress"]), int(about["NodeManagerPort"])),
    )  # fmt: skip
