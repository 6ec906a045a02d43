"""Nodes as their agents report them, and requests to leave; api."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from podium.db.schema.dialect import insert
from podium.db.schema.tables import devices as device_table
from podium.db.schema.tables import nodes as table
from podium.db.stores import devices, event_outbox
from podium.db.stores.devices import DeviceRow
from podium.db.stores.event_outbox import NewEvent
from podium.sweep.protocol.node_reports import NodeReport
from podium.sweep.values.device import node_name
from podium.sweep.values.device_state import USABLE_DEVICE_STATES
from podium.sweep.values.errors import NotFoundError
from podium.sweep.values.excluded_ray_node import RefusedNode
from podium.sweep.values.node_state_from_report import SILENT_AFTER_S, NodeState, node_state

_LISTS = ("left_folders", "left_processes")
LEAVES = "its node leaves"  # the reason of devices that are drained for that


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node, with its devices."""

    report: NodeReport  # the last one
    joined_at: float
    reported_at: float
    leaving: bool
    device_ids: tuple[str, ...]
    busy: int  # devices that run a trial
    drained: bool  # whether it has devices, and all are drained
    refused: str  # why the service does not use it, or ""

    @property
    def name(self) -> str:
        return self.report.name

    def state(self, now: float) -> NodeState:
        """Ready, silent, leaving, drained or refused."""
        return node_state(
            silent_s=now - self.reported_at, leaving=self.leaving, drained=self.drained, refused=bool(self.refused)
        )


def record_report(connection: Connection, report: NodeReport, at: float) -> bool:
    """Store the report of a node, received `at`; returns whether the node shall leave now.

    A node that was asked to leave does so when its devices accept and run no trials, and its files are sent, unless it
    was asked to leave at once.
    """
    known = connection.execute(select(table).where(table.c.name == report.name)).one_or_none()
    values = {**_stored(report), "reported_at": at, "refused": ""}
    if known is None:
        connection.execute(insert(table).values(**values, joined_at=at))
        _return_leaving(connection, report.name)
        _add_event(connection, "joined", report.name, at, address=report.address)
        return False
    connection.execute(update(table).where(table.c.name == report.name).values(**values))
    if at - known.reported_at > SILENT_AFTER_S:
        _add_event(connection, "reconnected", report.name, at, silent_s=round(at - known.reported_at, 1))
    if not known.leaving:
        return False
    return bool(known.leave_now) or (report.uploads_waiting == 0 and not _is_used(connection, report.name))


def set_refused(connection: Connection, refused: Mapping[str, RefusedNode], at: float) -> None:
    """From now on, exactly these nodes are refused, by name; the rows of others that were are deleted."""
    connection.execute(delete(table).where(table.c.refused != "", table.c.name.not_in(list(refused))))
    for name, node in refused.items():
        report = NodeReport(
            name=name, address=node.address, podium_version=node.versions.get("podium", ""),
            python_version=node.versions.get("python", ""), ray_version=node.versions.get("ray", ""),
            cores=node.cores, gpus=node.gpus, memory_bytes=0, disk_free_bytes=0, cache_bytes=0, clock_offset_s=0.0,
            uploads_waiting=0, member_port=0, certificate="",
        )  # fmt: skip
        values = {**_stored(report), "reported_at": at, "joined_at": at, "refused": node.reason}
        connection.execute(insert(table).values(values).on_conflict_do_update(index_elements=["name"], set_=values))


def ask_to_leave(connection: Connection, name: str, at: float, *, now: bool = False) -> None:
    """The next reports of a node are answered that it shall leave: after its trials, or `now`. Raises `NotFoundError`.

    Its devices are not drained by this.
    """
    known = _get(connection, name)
    if (known.leaving, known.leave_now) in {(True, True), (True, now)}:
        return
    connection.execute(update(table).where(table.c.name == name).values(leaving=True, leave_now=now))
    _add_event(connection, "leaving", name, at, now=now)


def keep(connection: Connection, name: str) -> None:
    """Withdraw a request to leave, also from its devices. Raises `NotFoundError`."""
    _get(connection, name)
    connection.execute(update(table).where(table.c.name == name).values(leaving=False, leave_now=False))
    _return_leaving(connection, name)


def forget(connection: Connection, name: str, at: float) -> None:
    """Delete a node that has left, and its devices. Raises `NotFoundError`.

    Devices that were drained so that it leaves are not drained if it joins again.
    """
    _get(connection, name)
    connection.execute(delete(table).where(table.c.name == name))
    its_devices = [device.id for device in _devices_of(connection, name)]
    connection.execute(delete(device_table).where(device_table.c.id.in_(its_devices)))
    _return_leaving(connection, name)
    _add_event(connection, "left", name, at)


def leaving(connection: Connection) -> frozenset[str]:
    """The names of the nodes that were asked to leave."""
    return frozenset(connection.execute(select(table.c.name).where(table.c.leaving)).scalars())


def for_members(connection: Connection) -> dict[str, tuple[str, int, str]]:
    """Address, port and fingerprint of the agents that start members of ensembles, by the names of their nodes."""
    rows = connection.execute(select(table).where(table.c.member_port > 0, table.c.leaving.is_(False)))
    return {row.name: (row.address, row.member_port, row.certificate) for row in rows}


def all_of(connection: Connection) -> list[NodeRow]:
    """All nodes by name, with their devices."""
    rows = connection.execute(select(table).order_by(table.c.name)).all()
    if not rows:
        return []
    drained = devices.drained(connection)
    found = devices.all_of(connection)
    return [_row(row, [each for each in found if node_name(each.id) == row.name], drained) for row in rows]


def get(connection: Connection, name: str) -> NodeRow:
    """One node. Raises `NotFoundError` with the known names."""
    _get(connection, name)
    return next(node for node in all_of(connection) if node.name == name)


def _get(connection: Connection, name: str) -> Row[tuple[object, ...]]:
    row = connection.execute(select(table).where(table.c.name == name)).one_or_none()
    if row is None:
        known = connection.execute(select(table.c.name).order_by(table.c.name)).scalars().all()
        raise NotFoundError(f"there is no node {name!r}; known: {', '.join(known) or 'none yet'}")
    return row


def _row(row: Row[tuple[object, ...]], its_devices: Sequence[DeviceRow], drained: dict[str, str]) -> NodeRow:
    return NodeRow(
        report=_report(row),
        joined_at=row.joined_at,
        reported_at=row.reported_at,
        leaving=row.leaving,
        device_ids=tuple(device.id for device in its_devices),
        busy=sum(device.running is not None for device in its_devices),
        drained=bool(its_devices) and all(device.id in drained for device in its_devices),
        refused=row.refused,
    )


def _stored(report: NodeReport) -> dict[str, Any]:
    """The columns of a report: its lists are JSON."""
    return {name: json.dumps(value) if name in _LISTS else value for name, value in report.to_dict().items()}


def _report(row: Row[tuple[object, ...]]) -> NodeReport:
    columns: dict[str, Any] = {name: getattr(row, name) for name in NodeReport.__dataclass_fields__}
    return NodeReport(**{**columns, **{name: tuple(json.loads(columns[name])) for name in _LISTS}})


def _is_used(connection: Connection, name: str) -> bool:
    """Whether a device of a node runs a trial, or may get one: the scheduler has not drained it yet; or the files of a
    trial that ran there are being sent.
    """
    its_devices = _devices_of(connection, name)
    if devices.with_unsent_files(connection) & {device.id for device in its_devices}:
        return True
    return any(device.running is not None or device.state in USABLE_DEVICE_STATES for device in its_devices)


def _devices_of(connection: Connection, name: str) -> list[DeviceRow]:
    return [device for device in devices.all_of(connection) if node_name(device.id) == name]


def _return_leaving(connection: Connection, name: str) -> None:
    for each in devices.drains(connection):
        if node_name(each.device_id) == name and each.reason == LEAVES:
            devices.delete_drain(connection, each)


def _add_event(connection: Connection, kind: str, name: str, at: float, **payload: object) -> None:
    event_outbox.add(connection, [NewEvent(at, f"node.{kind}", payload={"node": name, **payload})])
