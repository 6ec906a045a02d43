"""The status of an ensemble, derived from the states of its replicas; host process.

A member is ready if one of its replicas is. The active version alone determines the state; problems of the target
version or the canary appear in the reason. A target version that cannot take over remains the target until it is rolled
back: removing it automatically would lose the information about which members failed, and why.
"""

from __future__ import annotations

from collections.abc import Iterator

from podium.db.stores.ensemble_reader import EnsembleRow, MemberRow, VersionRow
from podium.ensemble.values.ensemble_spec import Mode
from podium.ensemble.values.ensemble_states import EnsembleState, MemberState

_PENDING = frozenset({MemberState.STARTING, MemberState.WARMING, MemberState.RESTARTING})
_INITIAL = frozenset({EnsembleState.BUILDING, EnsembleState.WARMING})


def status_of(row: EnsembleRow, before: EnsembleState) -> tuple[EnsembleState, str]:
    """The state of an ensemble that was in `before`, and the reason if it is not fully ready."""
    return _state(row.active, before), "; ".join(_problems(row))


def can_take_over(version: VersionRow) -> bool:
    """Whether all members are ready, or a quorum is and the others have failed for good."""
    ready = sum(map(_is_ready, version.members))
    return ready == len(version.members) or (ready >= version.quorum and not _has_pending_member(version))


def has_ready_member(version: VersionRow) -> bool:
    """Whether at least one member is ready."""
    return any(map(_is_ready, version.members))


def _state(version: VersionRow, before: EnsembleState) -> EnsembleState:
    ready = sum(map(_is_ready, version.members))
    if ready == len(version.members):
        return EnsembleState.READY
    states = {replica.state for member in version.members if not _is_ready(member) for replica in member.replicas}
    if before in _INITIAL and states & {MemberState.STARTING, MemberState.WARMING}:
        started = ready or MemberState.WARMING in states or before is EnsembleState.WARMING
        return EnsembleState.WARMING if started else EnsembleState.BUILDING
    return EnsembleState.DEGRADED if ready >= version.quorum else EnsembleState.BELOW_QUORUM


def _problems(row: EnsembleRow) -> Iterator[str]:
    yield from _version_problems(row.active)
    for version in row.kept[1:]:
        problems = "; ".join(_version_problems(version))
        if version.number == row.target and _cannot_reach_quorum(version):
            yield f"version {version.number} cannot take over: {problems}"
        elif problems:
            yield f"version {version.number}: {problems}"


def _version_problems(version: VersionRow) -> Iterator[str]:
    """The problems of each member; in-graph all members share one process."""
    whole = version.mode is Mode.IN_GRAPH
    for member in version.members[:1] if whole else version.members:
        for replica in member.replicas:
            if replica.state is not MemberState.READY and replica.reason:
                member_label = "" if whole else f"{member.name}: "
                replica_label = f"replica {replica.number}: " if len(member.replicas) > 1 else ""
                yield f"{member_label}{replica_label}{replica.reason}"


def _cannot_reach_quorum(version: VersionRow) -> bool:
    return sum(map(_is_ready, version.members)) < version.quorum and not _has_pending_member(version)


def _is_ready(member: MemberRow) -> bool:
    return any(replica.state is MemberState.READY for replica in member.replicas)


def _has_pending_member(version: VersionRow) -> bool:
    """Whether a member that is not ready has a replica that may still become ready."""
    return any(
        replica.state in _PENDING for member in version.members if not _is_ready(member) for replica in member.replicas
    )
