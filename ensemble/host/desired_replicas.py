"""The replicas that should exist: which members each runs, and the name of its process; host process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from podium.db.stores.ensemble_reader import EnsembleRow, MemberRow, VersionRow
from podium.db.stores.member_replicas import ReplicaRow
from podium.ensemble.values.ensemble_spec import Mode
from podium.ensemble.values.ensemble_states import MemberState


@dataclass(frozen=True, slots=True)
class ReplicaKey:
    """The identity of a replica: the `position` of its first member, and its `number` among that member's replicas."""

    ensemble_id: int
    version: int
    position: int
    number: int


@dataclass(frozen=True, slots=True)
class ReplicaSpec:
    """The desired state of a replica: a process that runs one member, or in-graph all members.

    The database has a row for each member of the replica; these rows differ only in their device.
    """

    key: ReplicaKey
    version: VersionRow
    members: tuple[MemberRow, ...]
    replicas: tuple[ReplicaRow, ...]  # by member

    @property
    def member_ids(self) -> list[int]:
        return [member.id for member in self.members]

    @property
    def state(self) -> MemberState:
        return self.replicas[0].state

    @property
    def epoch(self) -> int:
        """The epoch of the last process; 0 before the first."""
        return max(replica.epoch for replica in self.replicas)

    def name(self, epoch: int) -> str:
        """The name of the process in an epoch."""
        key = self.key
        return f"worker-{key.ensemble_id}-{key.version}-{key.position}-{key.number}-{epoch}"


def replica_specs(row: EnsembleRow) -> Iterator[ReplicaSpec]:
    """The replicas of an ensemble: in-graph one for all members, between-graph one for each, times `replicas`."""
    for version in row.kept:
        for members in _groups(version):
            for number, replicas in enumerate(zip(*(member.replicas for member in members), strict=True)):
                key = ReplicaKey(row.id, version.number, members[0].position, number)
                yield ReplicaSpec(key, version, members, replicas)


def _groups(version: VersionRow) -> list[tuple[MemberRow, ...]]:
    if version.mode is Mode.IN_GRAPH:
        return [version.members]
    return [(member,) for member in version.members]
