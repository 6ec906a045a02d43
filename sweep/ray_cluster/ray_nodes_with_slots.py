"""The nodes of the Ray cluster whose devices get slots; scheduler."""

from __future__ import annotations

import re
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import ray
from ray._private import state

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
    One that joins with the name of another takes its place if it can be reached and the other cannot: Ray lists a dead
    node as alive for many seconds. If both can be reached, it gets a part of its id as well. Raises `LookupError` if
    Ray does not list the head: then its list says nothing about the others either.
    """
    listed, found = _alive(known or {})
    for node_id in sorted(listed.keys() - found.keys()):
        if (wanted := _label(listed[node_id])) != "":
            _add(found, _node(listed[node_id], wanted))
    return found


def existing_cluster_nodes(known: Mapping[str, ClusterNode] | None, names: Mapping[str, str]) -> dict[str, ClusterNode]:
    """As `alive_nodes` in an existing cluster: all nodes with CPUs or GPUs.

    A node has its name in `names`, by id, or in its label, or the name of its host.
    """
    listed, found = _alive(known or {})
    for node_id in sorted(listed.keys() - found.keys(), key=lambda node_id: (node_id not in names, node_id)):
        about = listed[node_id]
        node = _node(about, names.get(node_id) or _label(about) or _host_name(about))
        if node.cpus or node.gpus:
            _add(found, node)
    return found


def draining_nodes() -> Collection[str]:
    """The ids of the nodes that Ray is about to remove: they get no new actors."""
    return frozenset(state.state.get_draining_nodes())


def _alive(known: Mapping[str, ClusterNode]) -> tuple[dict[str, Any], dict[str, ClusterNode]]:
    """What Ray lists, by id, and the nodes of it that are known or the head."""
    head_id = ray.get_runtime_context().get_node_id()
    listed = {str(each["NodeID"]): each for each in ray.nodes() if each["Alive"]}
    if head_id not in listed:
        raise LookupError("Ray does not list the node of this process as alive")
    found = {node_id: node for node_id, node in known.items() if node_id in listed}
    found[head_id] = _node(listed[head_id], "")
    return listed, found


def _label(about: Any) -> str:
    return str(about.get("Labels", {}).get(NODE_LABEL, ""))


def _host_name(about: Any) -> str:
    """The first part of a host name, as a name of a node."""
    name = re.sub(r"[^A-Za-z0-9_-]", "-", str(about["NodeManagerHostname"]).split(".")[0]).strip("-_")
    return name[:50] or "node"


def _add(found: dict[str, ClusterNode], node: ClusterNode) -> None:
    other = next((each for each in found.values() if each.name == node.name), None)
    if other is None:
        found[node.node_id] = node
    elif not node.is_reachable():
        return  # the dead one of two with this name, also while the network of the other is interrupted
    elif other.is_reachable():
        found[node.node_id] = replace(node, name=f"{node.name}-{node.node_id[:6]}")
    else:
        del found[other.node_id]
        found[node.node_id] = node


def _node(about: Any, name: str) -> ClusterNode:
    resources = about["Resources"]
    return ClusterNode(
        str(about["NodeID"]), name, int(resources.get("CPU", 0)), int(resources.get("GPU", 0)),
        (str(about["NodeManagerAddress"]), int(about["NodeManagerPort"])),
    )  # fmt: skip
