"""The posts to be filled, one worker each: which replicas it runs, and what it is called; pure, host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from podium.db.stores.ensembles import EnsembleRow, MemberRow, VersionRow
from podium.db.stores.replicas import ReplicaRow
from podium.ensemble.values.ensemble_spec import MemberState, Mode


@dataclass(frozen=True, slots=True)
class PostKey:
    """Which worker: `position` is its first member's, `number` the replica's."""

    ensemble_id: int
    version: int
    position: int
    number: int


@dataclass(frozen=True, slots=True)
class Post:
    """One worker that is wanted, as the database has it now. Its replicas say all the same but for the device."""

    key: PostKey
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
        """Of the last process that was here; 0 before the first."""
        return max(replica.epoch for replica in self.replicas)

    def name(self, epoch: int) -> str:
        """What the worker of an epoch is called."""
        key = self.key
        return f"worker-{key.ensemble_id}-{key.version}-{key.position}-{key.number}-{epoch}"


def posts_of(row: EnsembleRow) -> Iterator[Post]:
    """The workers that an ensemble wants: in-graph one for all members, between-graph one for each; times replicas."""
    for version in row.kept:
        for members in _groups(version):
            for number, replicas in enumerate(zip(*(member.replicas for member in members), strict=True)):
                key = PostKey(row.id, version.number, members[0].position, number)
                yield Post(key, version, members, replicas)


def _groups(version: VersionRow) -> list[tuple[MemberRow, ...]]:
    if version.mode is Mode.IN_GRAPH:
        return [version.members]
    return [(member,) for member in version.members]
