"""Nodes of an existing Ray cluster that are not used: for some time, while Ray drains them, until they are returned."""

from __future__ import annotations

import math

from podium.sweep.ray_cluster.nodes_excluded_from_probes import ExcludedNodes
from podium.sweep.ray_cluster.ray_nodes_with_slots import ClusterNode

NODES = {f"id-{name}": ClusterNode(f"id-{name}", name, 4, 0) for name in "abc"}


def test_node_is_avoided_at_once_and_until_the_time() -> None:
    unused = ExcludedNodes(frozenset)
    unused.avoid("id-a", 60.0)
    assert unused.ids == {"id-a"}
    unused.update(NODES, (), 59.0)
    assert unused.ids == {"id-a"}
    unused.update(NODES, (), 60.0)
    assert unused.ids == frozenset()


def test_shorter_time_does_not_replace_a_longer_one() -> None:
    unused = ExcludedNodes(frozenset)
    unused.avoid("id-a", math.inf)
    unused.avoid("id-a", 60.0)
    unused.update(NODES, (), 1e6)
    assert unused.ids == {"id-a"}
    unused.update({}, (), 1e6)
    assert unused.ids == frozenset(), "it has left"


def test_nodes_that_drain_or_were_asked_to_leave_are_not_used() -> None:
    leaving = {"b", "gone"}
    unused = ExcludedNodes(lambda: leaving)
    unused.update(NODES, ["id-a"], 0.0)
    assert unused.ids == {"id-a", "id-b"}
    leaving.clear()
    unused.update(NODES, (), 1.0)
    assert unused.ids == frozenset()
