"""The devices as the ledger last wrote them, with what runs on each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, literal_column, select
from sqlalchemy.dialects.sqlite import insert

from podium.db.schema.tables import (
    attempts,
    devices,
    devices_aside,
    ensemble_members,
    ensembles,
    replicas,
    sweeps,
    trials,
)
from podium.db.stores import device_history, events
from podium.db.stores.device_history import SpellRow
from podium.db.stores.events import NewEvent
from podium.sweep.lifecycle.state_changes import DeviceChanged, DeviceSetAside
from podium.sweep.values.trial import TrialState

# Spelled out, not bound: only so does SQLite know that the index of what runs is enough.
_RUNS = trials.c.state == literal_column(f"'{TrialState.RUNNING}'")


@dataclass(frozen=True, slots=True)
class RunningRow:
    """The trial on a device."""

    trial_id: int
    number: int
    attempt: int
    sweep_id: int
    sweep_name: str
    started_at: float


@dataclass(frozen=True, slots=True)
class PlacedMemberRow:
    """A member of an ensemble beside the trials."""

    id: int
    position: int
    ensemble_id: int
    ensemble_name: str


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
    running: RunningRow | None
    members: tuple[PlacedMemberRow, ...]
    changed_at: float  # when state or reason did last

    @property
    def trial_id(self) -> int | None:
        return None if self.running is None else self.running.trial_id

    @property
    def member_ids(self) -> tuple[int, ...]:
        return tuple(member.id for member in self.members)


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
        device_history.add(connection, item.device_id, SpellRow(item.at, item.state, item.reason))
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
    running, members = _running(connection), _members(connection)
    statement = select(devices).order_by(devices.c.kind.desc(), devices.c.position)
    return [
        DeviceRow(
            id=row.id,
            kind=row.kind,
            position=row.position,
            node=row.node,
            visible=row.visible,
            uuid=row.uuid,
            slot_pid=row.slot_pid,
            state="busy" if row.id in running and row.state == "ready" else row.state,
            reason=row.reason,
            running=running.get(row.id),
            members=tuple(members.get(row.id, ())),
            changed_at=row.changed_at,
        )
        for row in connection.execute(statement)
    ]


def _running(connection: Connection) -> dict[str, RunningRow]:
    statement = (
        select(
            attempts.c.device_id,
            attempts.c.trial_id,
            trials.c.number,
            trials.c.attempt,
            trials.c.sweep_id,
            sweeps.c.name.label("sweep_name"),
            attempts.c.started_at,
        )
        .join(trials, and_(trials.c.id == attempts.c.trial_id, trials.c.attempt == attempts.c.number))
        .join(sweeps, sweeps.c.id == trials.c.sweep_id)
        .where(_RUNS)
    )
    return {
        row["device_id"]: RunningRow(**{name: row[name] for name in RunningRow.__dataclass_fields__})
        for row in connection.execute(statement).mappings()
    }


def _members(connection: Connection) -> dict[str, list[PlacedMemberRow]]:
    statement = (
        select(
            replicas.c.device_id,
            ensemble_members.c.id,
            ensemble_members.c.position,
            ensemble_members.c.ensemble_id,
            ensembles.c.name,
        )
        .join(ensemble_members, ensemble_members.c.id == replicas.c.member_id)
        .join(ensembles, ensembles.c.id == ensemble_members.c.ensemble_id)
        .where(replicas.c.endpoint.is_not(None))
        .order_by(replicas.c.member_id)
    )
    found: dict[str, list[PlacedMemberRow]] = {}
    for row in connection.execute(statement):
        member = PlacedMemberRow(row.id, row.position, row.ensemble_id, row.name)
        found.setdefault(row.device_id, []).append(member)
    return found
