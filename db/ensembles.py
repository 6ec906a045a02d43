"""The ensembles, their members and evaluations: built by the api, kept by the host, read by the gateway."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from db import events, sweeps
from db.events import NewEvent
from db.tables import artifacts, ensemble_members, ensembles, evaluations, trials
from ensemble.spec import WANTED, EnsembleRequest, EnsembleState, Member, MemberState, Mode, Snapshot, majority
from sweep.errors import ConflictError, EnsembleError, NotFoundError
from sweep.trial import TrialState

MODEL = "model.safetensors"


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member as it is stored, with where its model lies."""

    id: int
    position: int
    trial_id: int
    trial_number: int
    sweep_id: int
    model_attempt: int
    model_sha256: str
    weight: float
    state: MemberState
    reason: str
    device_id: str | None
    node: str | None
    pid: int | None
    epoch: int
    endpoint: str | None


@dataclass(frozen=True, slots=True)
class EnsembleRow:
    """An ensemble as it is stored."""

    id: int
    name: str
    sweep_id: int | None
    state: EnsembleState
    reason: str
    mode: Mode
    combine: str
    quorum: int
    deadline_ms: float
    version: int
    classes: tuple[str, ...]
    features: int | None
    created_at: float
    members: tuple[MemberRow, ...]


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """An evaluation: queued, running, finished or failed."""

    id: int
    ensemble_id: int
    split: str
    state: str
    reason: str
    result: dict[str, Any] | None


def candidates(connection: Connection, sweep_id: int) -> list[tuple[int, int, float]]:
    """(trial id, number, value) of each finished trial of a sweep that saved a model."""
    statement = (
        select(trials.c.id, trials.c.number, trials.c.value)
        .join(artifacts, artifacts.c.trial_id == trials.c.id)
        .where(
            trials.c.sweep_id == sweep_id,
            trials.c.state == TrialState.FINISHED.value,
            artifacts.c.name == MODEL,
        )
        .order_by(trials.c.number)
    )
    return [(row.id, row.number, row.value) for row in connection.execute(statement)]


def create(connection: Connection, request: EnsembleRequest, trial_ids: Sequence[int], at: float) -> int:
    """Store a new ensemble, `building`.

    Raises `EnsembleError` for a quorum above k, `ConflictError` for a name that is taken.
    """
    quorum = majority(len(trial_ids)) if request.quorum is None else request.quorum
    if quorum > len(trial_ids):
        raise EnsembleError(f"quorum is {quorum}, but there are only {len(trial_ids)} members")
    name = request.name or _free_name(connection, sweeps.get(connection, request.sweep_id).name)
    if connection.execute(select(ensembles.c.id).where(ensembles.c.name == name)).one_or_none():
        raise ConflictError(f"there is an ensemble {name!r} already; choose another name")
    values = {
        "name": name,
        "sweep_id": request.sweep_id,
        "state": EnsembleState.BUILDING.value,
        "mode": request.mode.value,
        "combine": request.combine,
        "quorum": quorum,
        "deadline_ms": request.deadline_ms,
        "created_at": at,
        "changed_at": at,
    }
    (ensemble_id,) = connection.execute(insert(ensembles).values(values).returning(ensembles.c.id)).one()
    connection.execute(
        insert(ensemble_members),
        [
            {
                "ensemble_id": ensemble_id,
                "position": position,
                "trial_id": trial_id,
                "weight": 1.0 / len(trial_ids),
                "state": MemberState.STARTING.value,
            }
            for position, trial_id in enumerate(trial_ids)
        ],
    )
    events.add(connection, [NewEvent(at, "ensemble.building", ensemble_id=ensemble_id, payload={"name": name})])
    return int(ensemble_id)


def _free_name(connection: Connection, sweep_name: str) -> str:
    taken = set(connection.execute(select(ensembles.c.name)).scalars())
    number = 1
    while f"{sweep_name}-{number}" in taken:
        number += 1
    return f"{sweep_name}-{number}"


def get(connection: Connection, ensemble_id: int) -> EnsembleRow:
    """One ensemble. Raises `NotFoundError`."""
    row = connection.execute(select(ensembles).where(ensembles.c.id == ensemble_id)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no ensemble {ensemble_id}")
    return _ensemble(connection, row)


def page(connection: Connection, *, after: int | None = None, limit: int = 50) -> list[EnsembleRow]:
    """Ensembles, newest first."""
    statement = select(ensembles).order_by(ensembles.c.id.desc()).limit(limit)
    if after is not None:
        statement = statement.where(ensembles.c.id < after)
    return [_ensemble(connection, row) for row in connection.execute(statement).all()]


def wanted(connection: Connection) -> list[EnsembleRow]:
    """Every ensemble that is to be up, oldest first."""
    statement = select(ensembles).where(ensembles.c.state.in_([s.value for s in WANTED])).order_by(ensembles.c.id)
    return [_ensemble(connection, row) for row in connection.execute(statement).all()]


def snapshots(connection: Connection) -> list[Snapshot]:
    """Every ensemble that is to be up, as a prediction sees it."""
    return [
        Snapshot(
            ensemble_id=row.id,
            name=row.name,
            version=row.version,
            mode=row.mode,
            state=row.state,
            quorum=row.quorum,
            deadline_ms=row.deadline_ms,
            classes=row.classes,
            features=row.features or 0,
            members=tuple(Member(m.id, m.trial_id, m.weight, m.state, m.epoch, m.endpoint) for m in row.members),
        )
        for row in wanted(connection)
    ]


def describe(connection: Connection, ensemble_id: int, classes: Sequence[str], features: int) -> None:
    """What the members agree on, learned from their model files."""
    values = {"classes": json.dumps(list(classes)), "features": features}
    connection.execute(update(ensembles).where(ensembles.c.id == ensemble_id).values(values))


def change(connection: Connection, ensemble_id: int, state: EnsembleState, reason: str, at: float) -> None:
    """Set a new state; one that was stopped meanwhile stays so."""
    result = connection.execute(
        update(ensembles)
        .where(ensembles.c.id == ensemble_id, ensembles.c.state.in_([s.value for s in WANTED]))
        .values(state=state.value, reason=reason, changed_at=at)
    )
    if result.rowcount:
        payload = {"reason": reason}
        events.add(connection, [NewEvent(at, f"ensemble.{state}", ensemble_id=ensemble_id, payload=payload)])


def change_member(connection: Connection, member_id: int, state: MemberState, reason: str = "", **values: Any) -> None:
    """Set a member's state, and what else is known of it: device_id, node, pid, epoch, endpoint."""
    connection.execute(
        update(ensemble_members)
        .where(ensemble_members.c.id == member_id)
        .values(state=state.value, reason=reason, **values)
    )


def queue_evaluation(connection: Connection, ensemble_id: int, split: str, at: float) -> int:
    """Ask the host for an evaluation; returns its id."""
    values = {"ensemble_id": ensemble_id, "split": split, "state": "queued", "created_at": at}
    (evaluation_id,) = connection.execute(insert(evaluations).values(values).returning(evaluations.c.id)).one()
    return int(evaluation_id)


def queued_evaluations(connection: Connection) -> list[EvaluationRow]:
    """Evaluations that nobody has finished, oldest first; one that a dead host was on is among them."""
    statement = select(evaluations).where(evaluations.c.state.in_(["queued", "running"])).order_by(evaluations.c.id)
    return [_evaluation(row) for row in connection.execute(statement)]


def finish_evaluation(
    connection: Connection, evaluation_id: int, result: dict[str, Any] | None, reason: str, at: float
) -> None:
    """Store the result, or why there is none."""
    values = {
        "state": "failed" if result is None else "finished",
        "reason": reason,
        "result": None if result is None else json.dumps(result),
        "ended_at": at,
    }
    connection.execute(update(evaluations).where(evaluations.c.id == evaluation_id).values(values))


def get_evaluation(connection: Connection, evaluation_id: int) -> EvaluationRow:
    """One evaluation. Raises `NotFoundError`."""
    row = connection.execute(select(evaluations).where(evaluations.c.id == evaluation_id)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no evaluation {evaluation_id}")
    return _evaluation(row)


def _evaluation(row: Row[Any]) -> EvaluationRow:
    values = row._mapping
    result = None if values["result"] is None else json.loads(values["result"])
    return EvaluationRow(
        values["id"], values["ensemble_id"], values["split"], values["state"], values["reason"], result
    )


def _ensemble(connection: Connection, row: Row[Any]) -> EnsembleRow:
    values = row._mapping
    return EnsembleRow(
        id=values["id"],
        name=values["name"],
        sweep_id=values["sweep_id"],
        state=EnsembleState(values["state"]),
        reason=values["reason"],
        mode=Mode(values["mode"]),
        combine=values["combine"],
        quorum=values["quorum"],
        deadline_ms=values["deadline_ms"],
        version=values["version"],
        classes=tuple(json.loads(values["classes"])),
        features=values["features"],
        created_at=values["created_at"],
        members=_members(connection, values["id"]),
    )


def _members(connection: Connection, ensemble_id: int) -> tuple[MemberRow, ...]:
    model = (artifacts.c.trial_id == trials.c.id) & (artifacts.c.name == MODEL)
    statement = (
        select(
            ensemble_members,
            trials.c.number.label("trial_number"),
            trials.c.sweep_id,
            artifacts.c.attempt.label("model_attempt"),
            artifacts.c.sha256.label("model_sha256"),
        )
        .join(trials, trials.c.id == ensemble_members.c.trial_id)
        .join(artifacts, model)
        .where(ensemble_members.c.ensemble_id == ensemble_id)
        .order_by(ensemble_members.c.position)
    )
    names = MemberRow.__dataclass_fields__
    return tuple(
        MemberRow(**{**{n: row._mapping[n] for n in names}, "state": MemberState(row._mapping["state"])})
        for row in connection.execute(statement)
    )
