"""The replicas that can answer for the members of a version; gateway process."""

from __future__ import annotations

from typing import NamedTuple

from podium.ensemble.values.ensemble_snapshot import Replica, Snapshot
from podium.ensemble.values.ensemble_spec import Mode


class ReplicaSet(NamedTuple):
    """The replicas of one member, or in-graph of all members, any of which can answer for `positions`."""

    positions: tuple[int, ...]
    replicas: tuple[Replica, ...]


def workers_of(snapshot: Snapshot) -> list[ReplicaSet]:
    """The replica sets of a version: between-graph one for each member, in-graph one for all members.

    In-graph, all members share their replicas, so those of the first member are used.
    """
    if snapshot.mode is Mode.IN_GRAPH:
        return [ReplicaSet(tuple(range(len(snapshot.members))), snapshot.members[0].replicas)]
    return [ReplicaSet((position,), member.replicas) for position, member in enumerate(snapshot.members)]
