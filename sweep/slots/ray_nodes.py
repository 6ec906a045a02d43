"""The nodes of the Ray cluster whose devices get slots; scheduler."""

from __future__ import annotations

import socket
from dataclasses import dataclass
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
        try:
            socket.create_connection(self.raylet, timeout=CONNECT_S).close()
        except OSError:
            return False
        return True


def alive_nodes() -> dict[str, ClusterNode]:
    """By Ray's id, the head, which is the node of this process, and the nodes with a label that names them.

    Other nodes of the cluster get no slots. Of several nodes with one name, the later ones get a number.
    """
    head_id = ray.get_runtime_context().get_node_id()
    found: dict[str, ClusterNode] = {}
    names: set[str] = set()
    for about in sorted((each for each in ray.nodes() if each["Alive"]), key=lambda each: str(each["NodeID"])):
        node_id = str(about["NodeID"])
        wanted = str(about.get("Labels", {}).get(NODE_LABEL, ""))
        if node_id != head_id and not wanted:
            continue
        name = "" if node_id == head_id else _unique(wanted, names)
        names.add(name)
        raylet = (str(about["NodeManagerAddress"]), int(about["NodeManagerPort"]))
        found[node_id] = ClusterNode(node_id, name, _count(about, "CPU"), _count(about, "GPU"), raylet)
    return found


def _unique(wanted: str, names: set[str]) -> str:
    numbered = (wanted if number == 1 else f"{wanted}-{number}" for number in range(1, len(names) + 2))
    return next(name for name in numbered if name not in names)


def _count(about: Any, resource: str) -> int:
    return int(about["Resources"].get(resource, 0))
