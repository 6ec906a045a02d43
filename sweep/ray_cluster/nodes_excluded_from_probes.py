"""Which nodes of an existing Ray cluster get no probes; scheduler."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from podium.sweep.ray_cluster.ray_nodes_with_slots import ClusterNode


class ExcludedNodes:
    """Nodes that are avoided for some time, that Ray drains, or that were asked to leave the service."""

    def __init__(self, leaving: Callable[[], Collection[str]]) -> None:
        """`leaving` returns the names of the nodes that were asked to leave."""
        self._leaving = leaving
        self._until_s: dict[str, float] = {}  # by node id; monotonic
        self.ids: frozenset[str] = frozenset()  # as of the last `update`, with those that are avoided since then

    def avoid(self, node_id: str, until_s: float) -> None:
        """Use a node no more until then; `math.inf`: as long as it is in the cluster."""
        self._until_s[node_id] = max(until_s, self._until_s.get(node_id, 0.0))
        self.ids |= {node_id}

    def update(self, nodes: Mapping[str, ClusterNode], draining: Collection[str], now_s: float) -> None:
        """Find them again among the nodes that are alive."""
        # A node that has left does not come back with its id.
        self._until_s = {each: until_s for each, until_s in self._until_s.items() if each in nodes and now_s < until_s}
        leaving = self._leaving()
        asked = {node_id for node_id, node in nodes.items() if node.name in leaving}
        self.ids = frozenset({*self._until_s, *draining, *asked})
