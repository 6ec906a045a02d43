"""Reads ensembles, versions and members; api, ensemble host and gateway."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, func, select

from podium.db.schema.tables import (
    ensemble_members,
    ensemble_versions,
    ensembles,
    sweeps,
    trials,
)
from podium.db.stores import member_candidates
from podium.db.stores.member_replicas import ReplicaRow
from podium.db.stores.member_replicas import of_members as replicas_of
from podium.ensemble.values.ensemble_snapshot import Combination, Member, Replica, Snapshot, Traffic
from podium.ensemble.values.ensemble_spec import DEFAULT_MAX_LOSS_INCREASE, Mode, Placement, Precision
from podium.ensemble.values.ensemble_states import RUNNING_STATES, EnsembleState
from podium.ensemble.values.member_candidate import TrialFiles
from podium.ensemble.values.precision_selection import MeasuredPrecision
from podium.sweep.values.errors import NotFoundError
from podium.sweep.values.states import SweepState

log = logging.getLogger("podium.ensembles")
_UNREADABLE = (ValueError, KeyError, TypeError)  # written by another version of the service


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A stored member with the files of its trial."""

    id: int
    position: int
    trial_id: int
    weight: float
    files: TrialFiles
    replicas: tuple[ReplicaRow, ...]
    requested_precision: Precision = Precision.FLOAT32
    measured: MeasuredPrecision | None = None  # None: not measured yet, or float32 is requested

    @property
    def name(self) -> str:
        """What people read: `trial 4 of sweep 3`."""
        return self.files.name

    @property
    def precision(self) -> Precision | None:
        """What it is computed in; None if that is not decided yet."""
        if self.measured is not None:
            return self.measured.precision
        return self.requested_precision if self.requested_precision is Precision.FLOAT32 else None


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A stored version."""

    number: int
    mode: Mode
    quorum: int
    deadline_ms: float
    placement: Placement
    precision: str  # as requested; "mixed" if not the same for all members
    combination: Combination
    selection: dict[str, Any]
    classes: tuple[str, ...]
    features: int
    plan: dict[str, Any]
    created_at: float
    members: tuple[MemberRow, ...]
    max_loss_increase: float = DEFAULT_MAX_LOSS_INCREASE
    devices: int = 1  # of each replica


@dataclass(frozen=True, slots=True)
class EnsembleRow:
    """A stored ensemble with its versions by number."""

    id: int
    name: str
    sweep_id: int | None
    state: EnsembleState
    reason: str
    version: int
    target: int | None
    canary: int | None
    canary_share: float
    created_at: float
    versions: dict[int, VersionRow]

    @property
    def active(self) -> VersionRow:
        """The active version."""
        return self.versions[self.version]

    @property
    def kept(self) -> list[VersionRow]:
        """The versions whose members should run: active, target and canary."""
        numbers = dict.fromkeys(n for n in (self.version, self.target, self.canary) if n is not None)
        return [self.versions[number] for number in numbers]


def get(connection: Connection, ensemble_id: int) -> EnsembleRow:
    """One ensemble. Raises `NotFoundError`."""
    rows = _rows(connection, select(ensembles).where(ensembles.c.id == ensemble_id))
    if not rows:
        raise NotFoundError(f"there is no ensemble {ensemble_id}")
    return rows[0]


def named(connection: Connection, name: str) -> EnsembleRow:
    """The ensemble of this name. Raises `NotFoundError`."""
    rows = _rows(connection, select(ensembles).where(ensembles.c.name == name))
    if not rows:
        raise NotFoundError(f"there is no ensemble {name!r}")
    return rows[0]


def page(connection: Connection, *, after: int | None = None, limit: int = 50) -> list[EnsembleRow]:
    """Ensembles, newest first."""
    statement = select(ensembles).order_by(ensembles.c.id.desc()).limit(limit)
    if after is not None:
        statement = statement.where(ensembles.c.id < after)
    return _rows(connection, statement)


def wanted(connection: Connection) -> list[EnsembleRow]:
    """All ensembles that should run, oldest first; unreadable ones are logged and skipped."""
    up = ensembles.c.state.in_([state.value for state in RUNNING_STATES])
    try:
        return _rows(connection, select(ensembles).where(up).order_by(ensembles.c.id))
    except _UNREADABLE:
        ids = connection.execute(select(ensembles.c.id).where(up).order_by(ensembles.c.id)).scalars().all()
        return [row for ensemble_id in ids for row in _readable(connection, ensemble_id)]


def _readable(connection: Connection, ensemble_id: int) -> list[EnsembleRow]:
    try:
        return [get(connection, ensemble_id)]
    except _UNREADABLE:
        log.exception("cannot read ensemble %d; skipping it", ensemble_id)
        return []


def traffic(connection: Connection) -> list[Traffic]:
    """All ensembles that should run, as the gateway needs them."""
    return [
        Traffic(
            ensemble_id=row.id,
            name=row.name,
            state=row.state,
            active=_snapshot(row, row.active),
            canary=None if row.canary is None else _snapshot(row, row.versions[row.canary]),
            canary_share=row.canary_share,
        )
        for row in wanted(connection)
    ]


def requested(connection: Connection) -> list[tuple[int, str]]:
    """(id, spec) of each finished sweep with an `ensemble:` block that has not been built."""
    statement = (
        select(sweeps.c.id, sweeps.c.spec)
        .outerjoin(ensembles, ensembles.c.requested_by == sweeps.c.id)
        .where(
            sweeps.c.state == SweepState.FINISHED.value,
            sweeps.c.ensemble_error.is_(None),
            ensembles.c.id.is_(None),
            func.json_type(sweeps.c.spec, "$.ensemble") == "object",
        )
        .order_by(sweeps.c.id)
    )
    return [(row.id, row.spec) for row in connection.execute(statement)]


def _snapshot(row: EnsembleRow, version: VersionRow) -> Snapshot:
    return Snapshot(
        ensemble_id=row.id,
        name=row.name,
        version=version.number,
        mode=version.mode,
        quorum=version.quorum,
        deadline_ms=version.deadline_ms,
        classes=version.classes,
        features=version.features,
        combination=version.combination,
        members=tuple(
            Member(
                m.id,
                m.trial_id,
                tuple(
                    Replica(replica_id=r.id, state=r.state, epoch=r.epoch, endpoint=r.endpoint, reason=r.reason)
                    for r in m.replicas
                ),
                m.files.number,
                m.files.sweep_id,
            )
            for m in version.members
        ),
    )


def _rows(connection: Connection, statement: Any) -> list[EnsembleRow]:
    found = connection.execute(statement).all()
    if not found:
        return []
    versions = _versions(connection, [row.id for row in found])
    return [
        EnsembleRow(
            id=row.id,
            name=row.name,
            sweep_id=row.sweep_id,
            state=EnsembleState(row.state),
            reason=row.reason,
            version=row.version,
            target=row.target,
            canary=row.canary,
            canary_share=row.canary_share,
            created_at=row.created_at,
            versions=versions[row.id],
        )
        for row in found
    ]


def _versions(connection: Connection, ensemble_ids: Sequence[int]) -> dict[int, dict[int, VersionRow]]:
    members = _members(connection, ensemble_ids)
    found: dict[int, dict[int, VersionRow]] = {}
    statement = select(ensemble_versions).where(ensemble_versions.c.ensemble_id.in_(ensemble_ids))
    for row in connection.execute(statement.order_by(ensemble_versions.c.ensemble_id, ensemble_versions.c.number)):
        mine = members.get((row.ensemble_id, row.number), [])
        found.setdefault(row.ensemble_id, {})[row.number] = _version(row, mine)
    return found


def _version(row: Row[Any], members: list[MemberRow]) -> VersionRow:
    combination = Combination.from_json(row.combination)
    return VersionRow(
        number=row.number,
        mode=Mode(row.mode),
        quorum=row.quorum,
        deadline_ms=row.deadline_ms,
        placement=Placement(row.placement),
        precision=row.precision,
        max_loss_increase=row.max_loss_increase,
        devices=row.devices,
        combination=combination,
        selection=json.loads(row.selection),
        classes=tuple(json.loads(row.classes)),
        features=row.features,
        plan=json.loads(row.plan),
        created_at=row.created_at,
        members=tuple(
            replace(member, weight=weight) for member, weight in zip(members, combination.weights, strict=True)
        ),
    )


def _members(connection: Connection, ensemble_ids: Sequence[int]) -> dict[tuple[int, int], list[MemberRow]]:
    """The members by (ensemble, version), in member order; without their weights."""
    statement = (
        select(ensemble_members)
        .where(ensemble_members.c.ensemble_id.in_(ensemble_ids))
        .order_by(ensemble_members.c.position)
    )
    rows = connection.execute(statement).all()
    files = {
        item.trial_id: item
        for item in member_candidates.candidates_where(connection, trials.c.id.in_({row.trial_id for row in rows}))
    }
    running = replicas_of(connection, [row.id for row in rows])
    found: dict[tuple[int, int], list[MemberRow]] = {}
    for row in rows:
        measured = row.measured_precision
        member = MemberRow(
            id=row.id,
            position=row.position,
            trial_id=row.trial_id,
            weight=math.nan,
            files=files[row.trial_id],
            replicas=running[row.id],
            requested_precision=Precision(row.precision),
            measured=None if measured is None else MeasuredPrecision.from_json(measured),
        )
        found.setdefault((row.ensemble_id, row.version), []).append(member)
    return found
