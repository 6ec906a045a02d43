"""The devices as the ledger last wrote them, with what runs on each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, literal_column, select
from sqlalchemy.dialects.sqlite import insert

from db import events
from db.events import NewEvent
from db.tables import attempts, devices, devices_aside, replicas, trials
from sweep.changes import DeviceChanged, DeviceSetAside
from sweep.trial import TrialState

# Spelled out, not bound: only so does SQLite know that the index of what runs is enough.
_RUNS = trials.c.state == literal_column(f"'{TrialState.RUNNING}'")


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A device as it is shown."""

    id: str
    kind: str
    position: int
    node: str
    visible: str
    uuid: str | None
    slot_pid: int | None
    state: str  # ready, busy, dedicated, set aside, lost or stopped
    reason: str
    trial_id: int | None
    member_ids: tuple[int, ...]


def change(connection: Connection, changes: Sequence[DeviceChanged]) -> None:
    """Write devices as they are now."""
    for item in changes:
        values = {
            "id": item.device_id,
            "kind": item.kind,
            "position": item.position,
            "node": item.node,
            "visible": item.visible,
            "uuid": item.uuid,
            "slot_pid": item.slot_pid,
            "state": item.state,
            "reason": item.reason,
            "changed_at": item.at,
        }
        statement = insert(devices).values(values)
        connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))
        payload = {"device": item.device_id, "state": item.state, "reason": item.reason}
        events.add(connection, [NewEvent(item.at, f"device.{item.state}", payload=payload)])


def set_aside(connection: Connection, changes: Sequence[DeviceSetAside]) -> None:
    """Devices take no trials until somebody returns them; a reason that is there stays."""
    for item in changes:
        values = {"device_id": item.device_id, "reason": item.reason, "at": item.at}
        result = connection.execute(insert(devices_aside).values(values).on_conflict_do_nothing())
        if result.rowcount:
            payload = {"device": item.device_id, "reason": item.reason}
            events.add(connection, [NewEvent(item.at, "device.set_aside", payload=payload)])


def aside(connection: Connection) -> dict[str, str]:
    """The devices that take no trials until somebody returns them, and why."""
    return {row.device_id: row.reason for row in connection.execute(select(devices_aside))}


def forget(connection: Connection, keep: Sequence[str]) -> None:
    """Drop the devices of an earlier start that are not there any more."""
    connection.execute(devices.delete().where(devices.c.id.not_in(list(keep))))


def all_of(connection: Connection) -> list[DeviceRow]:
    """Every device, with the trial on its slot and the ensemble members beside it."""
    running = (
        select(attempts.c.device_id, attempts.c.trial_id)
        .join(trials, and_(trials.c.id == attempts.c.trial_id, trials.c.attempt == attempts.c.number))
        .where(_RUNS)
        .subquery()
    )
    members: dict[str, list[int]] = {}
    placed = select(replicas.c.device_id, replicas.c.member_id).where(replicas.c.endpoint.is_not(None))
    for row in connection.execute(placed.order_by(replicas.c.member_id)):
        members.setdefault(row.device_id, []).append(row.member_id)
    statement = (
        select(devices, running.c.trial_id)
        .outerjoin(running, running.c.device_id == devices.c.id)
        .order_by(devices.c.kind.desc(), devices.c.position)
    )
    return [
        DeviceRow(
            id=row.id,
            kind=row.kind,
            position=row.position,
            node=row.node,
            visible=row.visible,
            uuid=row.uuid,
            slot_pid=row.slot_pid,
            state="busy" if row.trial_id is not None and row.state == "ready" else row.state,
            reason=row.reason,
            trial_id=row.trial_id,
            member_ids=tuple(members.get(row.id, ())),
        )
        for row in connection.execute(statement)
    ]
