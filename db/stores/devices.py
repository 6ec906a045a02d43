"""Devices with their running trials and ensemble members; scheduler and api."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, literal_column, select

from podium.db.schema.dialect import insert
from podium.db.schema.tables import (
    attempt_ranks,
    attempts,
    devices,
    devices_aside,
    ensemble_members,
    ensembles,
    replicas,
    sweeps,
    trials,
)
from podium.db.stores import device_history, event_outbox
from podium.db.stores.current_attempt_condition import CURRENT_ATTEMPT
from podium.db.stores.device_history import DeviceStateRow
from podium.db.stores.event_outbox import NewEvent
from podium.db.stores.precompiled_sql_statements import DriverStatement
from podium.sweep.lifecycle.database_changes import DeviceChanged, DeviceDrained
from podium.sweep.values.device import node_name
from podium.sweep.values.device_state import DeviceState, RecordedState
from podium.sweep.values.drained_devices import DeviceDrain, drains_of
from podium.sweep.values.errors import NotFoundError
from podium.sweep.values.states import TrialState

# A literal, not a bound value: only then does SQLite use the partial index of running trials.
_RUNS = trials.c.state == literal_column(f"'{TrialState.RUNNING}'")

# Executed at the start and at the end of every trial.
_COLUMNS = ("id", "kind", "position", "node", "visible", "uuid", "slot_pid", "state", "reason", "changed_at")
_NEW = insert(devices)
_CHANGE = DriverStatement(
    _NEW.on_conflict_do_update(index_elements=["id"], set_={name: _NEW.excluded[name] for name in _COLUMNS[1:]}),
    _COLUMNS,
)


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
    """An ensemble member on a device."""

    id: int
    position: int
    trial_id: int
    trial_number: int
    ensemble_id: int
    ensemble_name: str


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A device."""

    id: str
    kind: str
    position: int
    node: str
    visible: str
    uuid: str | None
    slot_pid: int | None
    state: DeviceState
    reason: str
    running: RunningRow | None
    members: tuple[PlacedMemberRow, ...]
    changed_at: float  # when state or reason last changed

    @property
    def trial_id(self) -> int | None:
        return None if self.running is None else self.running.trial_id

    @property
    def member_ids(self) -> tuple[int, ...]:
        return tuple(member.id for member in self.members)


def change(connection: Connection, changes: Sequence[DeviceChanged]) -> None:
    """Write the current state of devices, and add all states to their history."""
    if not changes:
        return
    last = {item.device_id: item for item in changes}
    _CHANGE.execute_many(
        connection,
        [
            {
                "id": item.device_id,
                "kind": item.kind,
                "position": item.position,
                "node": item.node,
                "visible": item.visible,
                "uuid": item.uuid,
                "slot_pid": item.slot_pid,
                "state": item.state.value,
                "reason": item.reason,
                "changed_at": item.at,
            }
            for item in last.values()
        ],
    )
    history = [(item.device_id, DeviceStateRow(item.at, RecordedState(item.state), item.reason)) for item in changes]
    device_history.add(connection, history)
    event_outbox.add(
        connection,
        [
            NewEvent(
                item.at, f"device.{item.state}",
                payload={"device": item.device_id, "state": item.state, "reason": item.reason},
            )
            for item in changes
        ],
    )  # fmt: skip


def with_unsent_files(connection: Connection) -> set[str]:
    """The devices that an attempt has left whose files are being sent."""
    sending = select(attempts.c.device_id).join(trials, CURRENT_ATTEMPT).where(_RUNS, attempts.c.device_s.is_not(None))
    return set(connection.execute(sending).scalars())


def drain(connection: Connection, changes: Sequence[DeviceDrained]) -> None:
    """Drain devices until they are returned; an existing reason is kept."""
    uuids = _uuids(connection)
    for item in changes:
        if drains_of(item.device_id, uuids.get(item.device_id), drains(connection)):
            continue
        uuid = uuids.get(item.device_id) or ""
        values = {"device_id": item.device_id, "uuid": uuid, "reason": item.reason, "at": item.at}
        connection.execute(insert(devices_aside).values(values))
        payload = {"device": item.device_id, "reason": item.reason}
        event_outbox.add(connection, [NewEvent(item.at, "device.drained", payload=payload)])


def return_drained(connection: Connection, device_id: str) -> bool:
    """Return a device; returns whether it was drained."""
    found = drains_of(device_id, _uuids(connection).get(device_id), drains(connection))
    for each in found:
        delete_drain(connection, each)
    return bool(found)


def delete_drain(connection: Connection, drain: DeviceDrain) -> None:
    """Delete one of `drains`."""
    its_row = and_(devices_aside.c.device_id == drain.device_id, devices_aside.c.uuid == drain.uuid)
    connection.execute(devices_aside.delete().where(its_row))


def drains(connection: Connection) -> list[DeviceDrain]:
    """The drained devices, also those that do not exist now."""
    rows = connection.execute(select(devices_aside).order_by(devices_aside.c.device_id, devices_aside.c.uuid))
    return [DeviceDrain(row.device_id, row.uuid, row.reason) for row in rows]


def drained(connection: Connection) -> dict[str, str]:
    """The ids that drained devices have now, and the reasons; of a device that does not exist now, its last id."""
    uuids, found = _uuids(connection), drains(connection)
    now = {device_id: drains_of(device_id, uuid, found) for device_id, uuid in uuids.items()}
    known = [each for matching in now.values() for each in matching]
    gone = {each.device_id: each.reason for each in found if each.device_id not in uuids and each not in known}
    return gone | {device_id: matching[0].reason for device_id, matching in now.items() if matching}


def _uuids(connection: Connection) -> dict[str, str | None]:
    return {row.id: row.uuid for row in connection.execute(select(devices.c.id, devices.c.uuid))}


def forget(connection: Connection, keep: Sequence[str]) -> None:
    """Delete devices of an earlier start that no longer exist."""
    connection.execute(devices.delete().where(devices.c.id.not_in(list(keep))))


def all_of(connection: Connection) -> list[DeviceRow]:
    """All devices, with the trial in the slot and the ensemble members: those of the head first, then node by node."""
    running, members = _running(connection), _members(connection)
    rows = connection.execute(select(devices).order_by(devices.c.kind.desc(), devices.c.position)).all()
    return [
        DeviceRow(
            id=row.id,
            kind=row.kind,
            position=row.position,
            node=row.node,
            visible=row.visible,
            uuid=row.uuid,
            slot_pid=row.slot_pid,
            state=_state(row.state, runs=row.id in running),
            reason=row.reason,
            running=running.get(row.id),
            members=tuple(members.get(row.id, ())),
            changed_at=row.changed_at,
        )
        for row in sorted(rows, key=lambda row: node_name(row.id))
    ]


def get(connection: Connection, device_id: str) -> DeviceRow:
    """One device. Raises `NotFoundError` with the known ids."""
    found = {row.id: row for row in all_of(connection)}
    if device_id not in found:
        raise NotFoundError(f"there is no device {device_id!r}; known: {', '.join(found) or 'none yet'}")
    return found[device_id]


def _state(stored: str, *, runs: bool) -> DeviceState:
    state = DeviceState(stored)
    return DeviceState.BUSY if runs and state is DeviceState.READY else state


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
        .join(trials, CURRENT_ATTEMPT)
        .join(sweeps, sweeps.c.id == trials.c.sweep_id)
        .where(_RUNS, attempts.c.device_s.is_(None))  # not one that has left the device and sends its files
    )
    shared = (
        select(attempt_ranks.c.device_id, *statement.selected_columns[1:])
        .select_from(attempts)
        .join(trials, CURRENT_ATTEMPT)
        .join(sweeps, sweeps.c.id == trials.c.sweep_id)
        .join(
            attempt_ranks,
            and_(attempt_ranks.c.trial_id == attempts.c.trial_id, attempt_ranks.c.number == attempts.c.number),
        )
        .where(_RUNS)
    )
    return {
        row["device_id"]: RunningRow(**{name: row[name] for name in RunningRow.__dataclass_fields__})
        for query in (statement, shared)
        for row in connection.execute(query).mappings()
    }


def _members(connection: Connection) -> dict[str, list[PlacedMemberRow]]:
    statement = (
        select(
            replicas.c.device_id,
            replicas.c.more_devices,
            ensemble_members.c.id,
            ensemble_members.c.position,
            ensemble_members.c.trial_id,
            trials.c.number,
            ensemble_members.c.ensemble_id,
            ensembles.c.name,
        )
        .join(ensemble_members, ensemble_members.c.id == replicas.c.member_id)
        .join(trials, trials.c.id == ensemble_members.c.trial_id)
        .join(ensembles, ensembles.c.id == ensemble_members.c.ensemble_id)
        .where(replicas.c.endpoint.is_not(None))
        .order_by(replicas.c.member_id)
    )
    found: dict[str, list[PlacedMemberRow]] = {}
    for row in connection.execute(statement):
        member = PlacedMemberRow(row.id, row.position, row.trial_id, row.number, row.ensemble_id, row.name)
        for device_id in (row.device_id, *json.loads(row.more_devices)):
            found.setdefault(device_id, []).append(member)
    return found
