"""The ensembles, their versions and members: built by the api, kept by the host, read by the gateway."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from db import events
from db.events import NewEvent
from db.keeping import MODEL
from db.replicas import ReplicaRow
from db.replicas import change as change_replica
from db.replicas import of_members as replicas_of
from db.tables import (
    artifacts,
    ensemble_members,
    ensemble_versions,
    ensembles,
    removed_artifacts,
    replicas,
    sweeps,
    trials,
)
from db.tables import events as events_table
from db.trial_notes import FEASIBLE
from ensemble.spec import (
    WANTED,
    Combination,
    EnsembleState,
    Member,
    MemberState,
    Mode,
    Placement,
    Precision,
    Replica,
    Snapshot,
    Traffic,
)
from ensemble.version import NewVersion, TrialFiles
from sweep.errors import ConflictError, NotFoundError
from sweep.trial import SweepState, TrialState

PREDICTIONS = "predictions.safetensors"
log = logging.getLogger("podium.ensembles")
_UNREADABLE = (ValueError, KeyError, TypeError)  # not what somebody wrote who knew this version of the service
_MemberParts = tuple[int, int, TrialFiles, tuple[ReplicaRow, ...]]  # id, position, what the trial left, replicas


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member as it is stored, with what its trial left."""

    id: int
    position: int
    trial_id: int
    weight: float
    files: TrialFiles
    replicas: tuple[ReplicaRow, ...]


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version as it is stored."""

    number: int
    mode: Mode
    quorum: int
    deadline_ms: float
    placement: Placement
    precision: Precision
    combination: Combination
    selection: dict[str, Any]
    classes: tuple[str, ...]
    features: int
    plan: dict[str, Any]
    created_at: float
    members: tuple[MemberRow, ...]


@dataclass(frozen=True, slots=True)
class EnsembleRow:
    """An ensemble as it is stored, with its versions by number."""

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
        """The version that answers."""
        return self.versions[self.version]

    @property
    def kept(self) -> list[VersionRow]:
        """The versions whose members are to run: the active one, its successor, the canary."""
        numbers = dict.fromkeys(n for n in (self.version, self.target, self.canary) if n is not None)
        return [self.versions[number] for number in numbers]


# What may become a member.


def candidates(connection: Connection, sweep_id: int) -> list[TrialFiles]:
    """The finished trials of a sweep that violate no constraint, by number."""
    finished = trials.c.state == TrialState.FINISHED.value
    return _candidates(connection, (trials.c.sweep_id == sweep_id) & finished & FEASIBLE)


def candidates_named(connection: Connection, trial_ids: Sequence[int]) -> list[TrialFiles]:
    """These trials, in the order given, whatever their state. Raises `NotFoundError` naming one that is not there."""
    found = {row.trial_id: row for row in _candidates(connection, trials.c.id.in_(trial_ids))}
    for trial_id in trial_ids:
        if trial_id not in found:
            raise NotFoundError(f"trial_ids: there is no trial {trial_id}")
    return [found[trial_id] for trial_id in trial_ids]


def _candidates(connection: Connection, condition: Any) -> list[TrialFiles]:
    model, predictions = artifacts.alias("model"), artifacts.alias("predictions")
    statement = (
        select(
            trials.c.id, trials.c.number, trials.c.sweep_id, trials.c.state, trials.c.value, sweeps.c.goal,
            model.c.attempt.label("model_attempt"), model.c.sha256, predictions.c.attempt.label("predictions_attempt"),
            removed_artifacts.c.reason.label("not_kept"),
        )
        .join(sweeps, sweeps.c.id == trials.c.sweep_id)
        .outerjoin(model, (model.c.trial_id == trials.c.id) & (model.c.name == MODEL))
        .outerjoin(predictions, (predictions.c.trial_id == trials.c.id) & (predictions.c.name == PREDICTIONS))
        .outerjoin(
            removed_artifacts,
            (removed_artifacts.c.trial_id == trials.c.id)
            & (removed_artifacts.c.name == MODEL)
            & model.c.trial_id.is_(None),  # or a trial that ran again has saved others since
        )
        .where(condition)
        .order_by(trials.c.sweep_id, trials.c.number)
    )  # fmt: skip
    return [
        TrialFiles(
            row.id, row.number, row.sweep_id, TrialState(row.state), row.value, row.goal,
            row.model_attempt, row.sha256, row.predictions_attempt, row.not_kept or "",
        )
        for row in connection.execute(statement)
    ]  # fmt: skip


# Writing.


def create(
    connection: Connection, name: str | None, sweep_id: int | None, version: NewVersion, at: float,
    *, requested: bool = False,
) -> int:  # fmt: skip
    """Store a new ensemble with its first version, `building`; returns its id.

    Without a name it gets the sweep's with a number. Raises `ConflictError` for a name that is taken.
    """
    name = name or _free_name(connection, sweep_id)
    if connection.execute(select(ensembles.c.id).where(ensembles.c.name == name)).one_or_none():
        raise ConflictError(f"there is an ensemble {name!r} already; choose another name")
    values = {
        "name": name,
        "sweep_id": sweep_id,
        "requested_by": sweep_id if requested else None,
        "state": EnsembleState.BUILDING.value,
        "created_at": at,
        "changed_at": at,
    }
    (ensemble_id,) = connection.execute(insert(ensembles).values(values).returning(ensembles.c.id)).one()
    _add_version(connection, ensemble_id, 1, version, at)
    events.add(connection, [NewEvent(at, "ensemble.building", ensemble_id=ensemble_id, payload={"name": name})])
    return int(ensemble_id)


def add_version(
    connection: Connection, ensemble_id: int, version: NewVersion, canary_share: float | None, at: float
) -> int:
    """Store another version: it takes over when it is ready, or as a canary answers a share; returns its number.

    Raises `ConflictError` when the ensemble is over, or another version is still on its way.
    """
    row = _wanted(connection, ensemble_id)
    if row.target is not None or row.canary is not None:
        on_its_way = row.target if row.target is not None else row.canary
        raise ConflictError(f"version {on_its_way} is on its way; promote it or roll it back first")
    number = max(row.versions) + 1
    _add_version(connection, ensemble_id, number, version, at)
    if canary_share is None:
        _set(connection, ensemble_id, at, target=number)
    else:
        _set(connection, ensemble_id, at, canary=number, canary_share=canary_share)
    _tell_version(connection, ensemble_id, "added", number, at)
    return number


def promote(connection: Connection, ensemble_id: int, at: float) -> None:
    """The canary is to answer everything. Raises `ConflictError` when there is none."""
    row = _wanted(connection, ensemble_id)
    if row.canary is None:
        raise ConflictError(f"ensemble {ensemble_id} has no canary to promote")
    _set(connection, ensemble_id, at, target=row.canary, canary=None, canary_share=0.0)
    _tell_version(connection, ensemble_id, "promoted", row.canary, at)


def roll_back(connection: Connection, ensemble_id: int, at: float) -> None:
    """Drop the version on its way, or go back to the one before the active one, as soon as that is ready.

    Raises `ConflictError` when there is nothing to go back to.
    """
    row = _wanted(connection, ensemble_id)
    if row.canary is not None or row.target is not None:
        _set(connection, ensemble_id, at, target=None, canary=None, canary_share=0.0)
        _tell_version(connection, ensemble_id, "rolled_back", row.version, at)
        return
    earlier = _active_before(connection, row)
    if earlier is None:
        raise ConflictError(f"ensemble {ensemble_id} has no version before {row.version}")
    _set(connection, ensemble_id, at, target=earlier)
    _tell_version(connection, ensemble_id, "rolled_back", earlier, at)


def _active_before(connection: Connection, row: EnsembleRow) -> int | None:
    """The earlier version that answered last: none that was a canary only, none that was itself rolled back from."""
    activated = (
        select(events_table.c.payload)
        .where(events_table.c.kind == "ensemble.version_active", events_table.c.ensemble_id == row.id)
        .order_by(events_table.c.id.desc())
    )
    active = [json.loads(payload)["version"] for payload in connection.execute(activated).scalars()]
    return next((number for number in [*active, 1] if number < row.version), None)  # the first is, without an event


def activate(connection: Connection, ensemble_id: int, number: int, at: float) -> None:
    """The target is ready: from now on it answers."""
    result = connection.execute(
        update(ensembles)
        .where(ensembles.c.id == ensemble_id, ensembles.c.target == number)
        .values(version=number, target=None, changed_at=at)
    )
    if result.rowcount:
        _tell_version(connection, ensemble_id, "active", number, at)


def change(connection: Connection, ensemble_id: int, state: EnsembleState, reason: str, at: float) -> None:
    """Set a new state; one that was stopped or retired meanwhile stays so."""
    _change_from(connection, ensemble_id, WANTED, state, reason, at)


def stop(connection: Connection, ensemble_id: int, at: float) -> None:
    """End its members; it can be started again. Raises `ConflictError` when it is retired."""
    _not_retired(connection, ensemble_id)
    _change_from(connection, ensemble_id, WANTED, EnsembleState.STOPPED, "stopped on request", at)


def start(connection: Connection, ensemble_id: int, at: float) -> None:
    """Have its members again; one that runs goes on, and what failed of it is tried again.

    Raises `ConflictError` when it is retired.
    """
    row = _not_retired(connection, ensemble_id)
    _change_from(connection, ensemble_id, {EnsembleState.STOPPED}, EnsembleState.BUILDING, "", at)
    for member in [member for version in row.kept for member in version.members]:
        for replica in member.replicas:
            if replica.state is MemberState.FAILED:
                change_replica(connection, replica.id, MemberState.STARTING)


def retire(connection: Connection, ensemble_id: int, at: float) -> None:
    """End it for good; its name stays taken, its evaluations stay readable."""
    get(connection, ensemble_id)
    alive = frozenset(EnsembleState) - {EnsembleState.RETIRED}
    _change_from(connection, ensemble_id, alive, EnsembleState.RETIRED, "retired on request", at)


def set_plan(connection: Connection, ensemble_id: int, number: int, plan: dict[str, Any]) -> None:
    """How in-graph runs its groups, as measured at warm-up."""
    mine = (ensemble_versions.c.ensemble_id == ensemble_id) & (ensemble_versions.c.number == number)
    connection.execute(update(ensemble_versions).where(mine).values(plan=json.dumps(plan)))


def _change_from(
    connection: Connection, ensemble_id: int, states: Iterable[EnsembleState], state: EnsembleState, reason: str,
    at: float,
) -> None:  # fmt: skip
    result = connection.execute(
        update(ensembles)
        .where(ensembles.c.id == ensemble_id, ensembles.c.state.in_([s.value for s in states]))
        .values(state=state.value, reason=reason, changed_at=at)
    )
    if result.rowcount:
        payload = {"reason": reason}
        events.add(connection, [NewEvent(at, f"ensemble.{state}", ensemble_id=ensemble_id, payload=payload)])


def _not_retired(connection: Connection, ensemble_id: int) -> EnsembleRow:
    row = get(connection, ensemble_id)
    if row.state is EnsembleState.RETIRED:
        raise ConflictError(f"ensemble {ensemble_id} is retired; build a new one")
    return row


def _wanted(connection: Connection, ensemble_id: int) -> EnsembleRow:
    row = _not_retired(connection, ensemble_id)
    if row.state not in WANTED:
        raise ConflictError(f"ensemble {ensemble_id} is {row.state.value}; start it first")
    return row


def _set(connection: Connection, ensemble_id: int, at: float, **values: Any) -> None:
    connection.execute(update(ensembles).where(ensembles.c.id == ensemble_id).values(changed_at=at, **values))


def _tell_version(connection: Connection, ensemble_id: int, what: str, number: int, at: float) -> None:
    event = NewEvent(at, f"ensemble.version_{what}", ensemble_id=ensemble_id, payload={"version": number})
    events.add(connection, [event])


def _add_version(connection: Connection, ensemble_id: int, number: int, version: NewVersion, at: float) -> None:
    values = {
        "ensemble_id": ensemble_id,
        "number": number,
        "mode": version.mode.value,
        "quorum": version.quorum,
        "deadline_ms": version.deadline_ms,
        "placement": version.placement.value,
        "precision": version.precision.value,
        "combination": version.combination.to_json(),
        "selection": json.dumps(version.selection),
        "classes": json.dumps(version.classes),
        "features": version.features,
        "created_at": at,
    }
    connection.execute(insert(ensemble_versions).values(values))
    for position, trial_id in enumerate(version.trial_ids):
        member = {"ensemble_id": ensemble_id, "version": number, "position": position, "trial_id": trial_id}
        statement = insert(ensemble_members).values(member).returning(ensemble_members.c.id)
        (member_id,) = connection.execute(statement).one()
        starting = {"member_id": member_id, "state": MemberState.STARTING.value}
        connection.execute(insert(replicas), [{**starting, "number": n} for n in range(version.replicas)])


def _free_name(connection: Connection, sweep_id: int | None) -> str:
    sweep_name = connection.execute(select(sweeps.c.name).where(sweeps.c.id == sweep_id)).scalar() or ""
    stem = "".join(filter(str.isprintable, sweep_name)) or "ensemble"
    taken = set(connection.execute(select(ensembles.c.name).where(ensembles.c.name.startswith(stem))).scalars())
    number = 1
    while f"{stem}-{number}" in taken:
        number += 1
    return f"{stem}-{number}"


# Reading.


def get(connection: Connection, ensemble_id: int) -> EnsembleRow:
    """One ensemble. Raises `NotFoundError`."""
    rows = _rows(connection, select(ensembles).where(ensembles.c.id == ensemble_id))
    if not rows:
        raise NotFoundError(f"there is no ensemble {ensemble_id}")
    return rows[0]


def page(connection: Connection, *, after: int | None = None, limit: int = 50) -> list[EnsembleRow]:
    """Ensembles, newest first."""
    statement = select(ensembles).order_by(ensembles.c.id.desc()).limit(limit)
    if after is not None:
        statement = statement.where(ensembles.c.id < after)
    return _rows(connection, statement)


def wanted(connection: Connection) -> list[EnsembleRow]:
    """Every ensemble that is to be up, oldest first; one that cannot be read is logged, and costs no other."""
    up = ensembles.c.state.in_([state.value for state in WANTED])
    try:
        return _rows(connection, select(ensembles).where(up).order_by(ensembles.c.id))
    except _UNREADABLE:
        ids = connection.execute(select(ensembles.c.id).where(up).order_by(ensembles.c.id)).scalars().all()
        return [row for ensemble_id in ids for row in _readable(connection, ensemble_id)]


def _readable(connection: Connection, ensemble_id: int) -> list[EnsembleRow]:
    try:
        return [get(connection, ensemble_id)]
    except _UNREADABLE:
        log.exception("ensemble %d cannot be read; the others go on", ensemble_id)
        return []


def traffic(connection: Connection) -> list[Traffic]:
    """Every ensemble that is to be up, as predictions see it."""
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
    """(id, spec) of each finished sweep whose file has an `ensemble:` block that nobody has taken up."""
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
            Member(m.id, m.trial_id, tuple(Replica(r.id, r.state, r.epoch, r.endpoint, r.reason) for r in m.replicas))
            for m in version.members
        ),
    )


def _rows(connection: Connection, statement: Any) -> list[EnsembleRow]:
    found = connection.execute(statement).all()
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


def _version(row: Row[Any], members: list[_MemberParts]) -> VersionRow:
    combination = Combination.from_json(row.combination)
    return VersionRow(
        number=row.number,
        mode=Mode(row.mode),
        quorum=row.quorum,
        deadline_ms=row.deadline_ms,
        placement=Placement(row.placement),
        precision=Precision(row.precision),
        combination=combination,
        selection=json.loads(row.selection),
        classes=tuple(json.loads(row.classes)),
        features=row.features,
        plan=json.loads(row.plan),
        created_at=row.created_at,
        members=tuple(
            MemberRow(member_id, position, files.trial_id, weight, files, mine)
            for (member_id, position, files, mine), weight in zip(members, combination.weights, strict=True)
        ),
    )


def _members(connection: Connection, ensemble_ids: Sequence[int]) -> dict[tuple[int, int], list[_MemberParts]]:
    """The members by (ensemble, version), in member order."""
    statement = (
        select(ensemble_members)
        .where(ensemble_members.c.ensemble_id.in_(ensemble_ids))
        .order_by(ensemble_members.c.position)
    )
    rows = connection.execute(statement).all()
    files = {item.trial_id: item for item in _candidates(connection, trials.c.id.in_({row.trial_id for row in rows}))}
    running = replicas_of(connection, [row.id for row in rows])
    found: dict[tuple[int, int], list[_MemberParts]] = {}
    for row in rows:
        parts = (row.id, row.position, files[row.trial_id], running[row.id])
        found.setdefault((row.ensemble_id, row.version), []).append(parts)
    return found
