"""How an ensemble stands, from the states of its members' replicas; pure, host.

A member is ready when one of its replicas is. The active version alone decides the state; what is wrong with the
version on its way, or with the canary, is in the reason. A version that cannot take over leaves the active one where
it is, and stays on its way, with the reason, until somebody rolls it back: dropped by itself, it would take along
which of its members failed, and why.
"""

from __future__ import annotations

from collections.abc import Iterator

from podium.db.stores.ensembles import EnsembleRow, MemberRow, VersionRow
from podium.ensemble.values.ensemble_spec import EnsembleState, MemberState, Mode

_COMING = frozenset({MemberState.STARTING, MemberState.WARMING, MemberState.RESTARTING})
_NEW = frozenset({EnsembleState.BUILDING, EnsembleState.WARMING})


def standing(row: EnsembleRow, before: EnsembleState) -> tuple[EnsembleState, str]:
    """The state of an ensemble that was in `before`, and what is not as it should be."""
    return _state(row.active, before), "; ".join(_troubles(row))


def may_take_over(version: VersionRow) -> bool:
    """Whether all members are ready, or a quorum is and the others never will be."""
    ready = sum(map(_is_ready, version.members))
    return ready == len(version.members) or (ready >= version.quorum and not _is_coming(version))


def has_ready_member(version: VersionRow) -> bool:
    """Whether anything of it answers."""
    return any(map(_is_ready, version.members))


def _state(version: VersionRow, before: EnsembleState) -> EnsembleState:
    ready = sum(map(_is_ready, version.members))
    if ready == len(version.members):
        return EnsembleState.READY
    states = {replica.state for member in version.members if not _is_ready(member) for replica in member.replicas}
    if before in _NEW and states & {MemberState.STARTING, MemberState.WARMING}:
        begun = ready or MemberState.WARMING in states or before is EnsembleState.WARMING
        return EnsembleState.WARMING if begun else EnsembleState.BUILDING
    return EnsembleState.DEGRADED if ready >= version.quorum else EnsembleState.BELOW_QUORUM


def _troubles(row: EnsembleRow) -> Iterator[str]:
    yield from _of_version(row.active)
    for version in row.kept[1:]:
        troubles = "; ".join(_of_version(version))
        if version.number == row.target and _is_lost(version):
            yield f"version {version.number} cannot take over: {troubles}"
        elif troubles:
            yield f"version {version.number}: {troubles}"


def _of_version(version: VersionRow) -> Iterator[str]:
    """What is wrong, by member; in-graph all members are one process."""
    whole = version.mode is Mode.IN_GRAPH
    for member in version.members[:1] if whole else version.members:
        for replica in member.replicas:
            if replica.state is not MemberState.READY and replica.reason:
                who = "" if whole else f"member {member.position}: "
                which = f"replica {replica.number}: " if len(member.replicas) > 1 else ""
                yield f"{who}{which}{replica.reason}"


def _is_lost(version: VersionRow) -> bool:
    return sum(map(_is_ready, version.members)) < version.quorum and not _is_coming(version)


def _is_ready(member: MemberRow) -> bool:
    return any(replica.state is MemberState.READY for replica in member.replicas)


def _is_coming(version: VersionRow) -> bool:
    """Whether a member is on its way that is not ready yet."""
    return any(
        replica.state in _COMING for member in version.members if not _is_ready(member) for replica in member.replicas
    )
