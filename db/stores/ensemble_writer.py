"""Writes ensembles: create, add version, promote, roll back, stop, start, retire; api and ensemble host."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, insert, select, update

from podium.db.schema.tables import (
    ensemble_members,
    ensemble_versions,
    ensembles,
    replicas,
    sweeps,
)
from podium.db.schema.tables import events as events_table
from podium.db.stores import event_outbox
from podium.db.stores.ensemble_reader import EnsembleRow, get
from podium.db.stores.event_outbox import NewEvent
from podium.db.stores.member_replicas import change as change_replica
from podium.ensemble.values.ensemble_states import RUNNING_STATES, EnsembleState, MemberState
from podium.ensemble.values.new_version import NewVersion
from podium.ensemble.values.precision_selection import MeasuredPrecision
from podium.sweep.values.errors import ConflictError

MIXED = "mixed"  # the precision of a version whose members have different ones


def create(
    connection: Connection, name: str | None, sweep_id: int | None, version: NewVersion, at: float,
    *, requested: bool = False,
) -> int:  # fmt: skip
    """Store a new ensemble with its first version, in state `building`; returns its id.

    The default name is that of the sweep with a number. Raises `ConflictError` for a name in use.
    """
    name = name or _free_name(connection, sweep_id)
    if connection.execute(select(ensembles.c.id).where(ensembles.c.name == name)).one_or_none():
        raise ConflictError(f"an ensemble {name!r} already exists; choose another name")
    values = {
        "name": name,
        "sweep_id": sweep_id,
        "requested_by": sweep_id if requested else None,
        "state": EnsembleState.BUILDING.value,
        "created_at": at,
        "changed_at": at,
    }
    (ensemble_id,) = connection.execute(insert(ensembles).values(values).returning(ensembles.c.id)).one()
    _add_version(connection, ensemble_id, 1, version=version, at=at)
    event_outbox.add(connection, [NewEvent(at, "ensemble.building", ensemble_id=ensemble_id, payload={"name": name})])
    return int(ensemble_id)


def add_version(
    connection: Connection, ensemble_id: int, version: NewVersion, canary_share: float | None, at: float
) -> int:
    """Store another version, which becomes active when ready or is a canary; returns its number.

    Raises `ConflictError` if the ensemble is stopped or retired, or another version is pending.
    """
    row = _active_ensemble(connection, ensemble_id)
    if row.target is not None or row.canary is not None:
        pending = row.target if row.target is not None else row.canary
        raise ConflictError(f"version {pending} is pending; promote it or roll it back first")
    number = max(row.versions) + 1
    _add_version(connection, ensemble_id, number, version=version, at=at)
    if canary_share is None:
        _set(connection, ensemble_id, at, target=number)
    else:
        _set(connection, ensemble_id, at, canary=number, canary_share=canary_share)
    _add_version_event(connection, ensemble_id, "added", number=number, at=at, canary_share=canary_share)
    return number


def promote(connection: Connection, ensemble_id: int, at: float) -> None:
    """Make the canary the target. Raises `ConflictError` if there is none."""
    row = _active_ensemble(connection, ensemble_id)
    if row.canary is None:
        raise ConflictError(f"ensemble {ensemble_id} has no canary to promote")
    _set(connection, ensemble_id, at, target=row.canary, canary=None, canary_share=0.0)
    _add_version_event(connection, ensemble_id, "promoted", number=row.canary, at=at)


def roll_back(connection: Connection, ensemble_id: int, at: float) -> None:
    """Cancel the pending version, or make the version before the active one the target.

    Raises `ConflictError` if there is no earlier version.
    """
    row = _active_ensemble(connection, ensemble_id)
    if row.canary is not None or row.target is not None:
        _set(connection, ensemble_id, at, target=None, canary=None, canary_share=0.0)
        _add_version_event(connection, ensemble_id, "rolled_back", number=row.version, at=at)
        return
    earlier = _active_before(connection, row)
    if earlier is None:
        raise ConflictError(f"ensemble {ensemble_id} has no version before {row.version}")
    _set(connection, ensemble_id, at, target=earlier)
    _add_version_event(connection, ensemble_id, "rolled_back", number=earlier, at=at)


def _active_before(connection: Connection, row: EnsembleRow) -> int | None:
    """The last earlier version that was active: neither a mere canary nor rolled back."""
    activated = (
        select(events_table.c.payload)
        .where(events_table.c.kind == "ensemble.version_active", events_table.c.ensemble_id == row.id)
        .order_by(events_table.c.id.desc())
    )
    active = [json.loads(payload)["version"] for payload in connection.execute(activated).scalars()]
    return next(
        (number for number in [*active, 1] if number < row.version), None
    )  # version 1 is active without an event


def activate(connection: Connection, ensemble_id: int, number: int, at: float) -> None:
    """Make the target the active version."""
    result = connection.execute(
        update(ensembles)
        .where(ensembles.c.id == ensemble_id, ensembles.c.target == number)
        .values(version=number, target=None, changed_at=at)
    )
    if result.rowcount:
        _add_version_event(connection, ensemble_id, "active", number=number, at=at)


def change(connection: Connection, ensemble_id: int, state: EnsembleState, reason: str, at: float) -> None:
    """Set a new state, unless the ensemble was stopped or retired meanwhile."""
    _change_from(connection, ensemble_id, RUNNING_STATES, state=state, reason=reason, at=at)


def stop(connection: Connection, ensemble_id: int, at: float) -> None:
    """Stop an ensemble; it can be started again. Raises `ConflictError` if it is retired."""
    _not_retired(connection, ensemble_id)
    _change_from(
        connection, ensemble_id, RUNNING_STATES, state=EnsembleState.STOPPED, reason="stopped on request", at=at
    )


def start(connection: Connection, ensemble_id: int, at: float) -> None:
    """Start an ensemble; if it runs, only failed replicas are restarted.

    Raises `ConflictError` if it is retired.
    """
    row = _not_retired(connection, ensemble_id)
    _change_from(connection, ensemble_id, {EnsembleState.STOPPED}, state=EnsembleState.BUILDING, reason="", at=at)
    for member in [member for version in row.kept for member in version.members]:
        for replica in member.replicas:
            if replica.state is MemberState.FAILED:
                change_replica(connection, replica.id, MemberState.STARTING)


def retire(connection: Connection, ensemble_id: int, at: float) -> None:
    """Retire an ensemble permanently; its name stays in use, its evaluations are kept."""
    get(connection, ensemble_id)
    alive = frozenset(EnsembleState) - {EnsembleState.RETIRED}
    _change_from(connection, ensemble_id, alive, state=EnsembleState.RETIRED, reason="retired on request", at=at)


def set_plan(connection: Connection, ensemble_id: int, number: int, plan: dict[str, Any]) -> None:
    """Store the execution plan of the in-graph mode, as measured at warm-up."""
    mine = (ensemble_versions.c.ensemble_id == ensemble_id) & (ensemble_versions.c.number == number)
    connection.execute(update(ensemble_versions).where(mine).values(plan=json.dumps(plan)))


def set_precision(connection: Connection, member_id: int, measured: MeasuredPrecision) -> None:
    """Store the measured precision of a member, once: a member keeps its precision."""
    mine = (ensemble_members.c.id == member_id) & ensemble_members.c.measured_precision.is_(None)
    connection.execute(update(ensemble_members).where(mine).values(measured_precision=measured.to_json()))


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
        event_outbox.add(connection, [NewEvent(at, f"ensemble.{state}", ensemble_id=ensemble_id, payload=payload)])


def _not_retired(connection: Connection, ensemble_id: int) -> EnsembleRow:
    row = get(connection, ensemble_id)
    if row.state is EnsembleState.RETIRED:
        raise ConflictError(f"ensemble {ensemble_id} is retired; build a new one")
    return row


def _active_ensemble(connection: Connection, ensemble_id: int) -> EnsembleRow:
    row = _not_retired(connection, ensemble_id)
    if row.state not in RUNNING_STATES:
        raise ConflictError(f"ensemble {ensemble_id} is {row.state.value}; start it first")
    return row


def _set(connection: Connection, ensemble_id: int, at: float, **values: Any) -> None:
    connection.execute(update(ensembles).where(ensembles.c.id == ensemble_id).values(changed_at=at, **values))


def _add_version_event(
    connection: Connection, ensemble_id: int, what: str, number: int, at: float, **more: float | None
) -> None:
    payload = {"version": number, **more}
    event = NewEvent(at, f"ensemble.version_{what}", ensemble_id=ensemble_id, payload=payload)
    event_outbox.add(connection, [event])


def _add_version(connection: Connection, ensemble_id: int, number: int, version: NewVersion, at: float) -> None:
    values = {
        "ensemble_id": ensemble_id,
        "number": number,
        "mode": version.mode.value,
        "quorum": version.quorum,
        "deadline_ms": version.deadline_ms,
        "placement": version.placement.value,
        "precision": version.precisions[0].value if len(set(version.precisions)) == 1 else MIXED,
        "combination": version.combination.to_json(),
        "selection": json.dumps(version.selection),
        "classes": json.dumps(version.classes),
        "features": version.features,
        "created_at": at,
        "max_loss_increase": version.max_loss_increase,
        "devices": version.devices,
    }
    connection.execute(insert(ensemble_versions).values(values))
    for position, trial_id in enumerate(version.trial_ids):
        member = {
            "ensemble_id": ensemble_id,
            "version": number,
            "position": position,
            "trial_id": trial_id,
            "precision": version.precisions[position].value,
        }
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
