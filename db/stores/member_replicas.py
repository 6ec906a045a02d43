"""Replicas, the processes that serve ensemble members; written by the ensemble host, read by the api."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select, update

from podium.db.schema.tables import ensemble_members, ensemble_versions, ensembles, replicas, trials
from podium.ensemble.values.ensemble_spec import Mode, Placement
from podium.ensemble.values.ensemble_states import HOLDING_STATES, RUNNING_STATES, MemberState
from podium.ensemble.values.member_candidate import member_name
from podium.sweep.lifecycle.pending_commands import MemberDevices


@dataclass(frozen=True, slots=True)
class ReplicaRow:
    """A stored replica of a member; in-graph, all members share the process."""

    id: int
    number: int
    state: MemberState
    reason: str
    device_id: str | None
    node: str | None
    pid: int | None
    epoch: int
    endpoint: str | None
    restarts: int
    more_devices: tuple[str, ...] = ()  # of the later stages of its network

    @property
    def device_ids(self) -> tuple[str, ...]:
        """All of its devices."""
        return () if self.device_id is None else (self.device_id, *self.more_devices)


def change(connection: Connection, replica_id: int, state: MemberState, reason: str = "", **values: Any) -> None:
    """Set the state and other columns of a replica: device_id, node, pid, epoch, endpoint, restarts."""
    connection.execute(
        update(replicas).where(replicas.c.id == replica_id).values(state=state.value, reason=reason, **values)
    )


def change_devices(
    connection: Connection, replica_id: int, state: MemberState, reason: str, device_ids: Sequence[str], **values: Any
) -> None:
    """`change` with all devices of the replica; none if there are none yet."""
    first = device_ids[0] if device_ids else None
    change(connection, replica_id, state, reason, device_id=first, more_devices=json.dumps(device_ids[1:]), **values)


def of_members(connection: Connection, member_ids: Sequence[int]) -> dict[int, tuple[ReplicaRow, ...]]:
    """The replicas of each member, by number."""
    found: dict[int, list[ReplicaRow]] = {member_id: [] for member_id in member_ids}
    statement = select(replicas).where(replicas.c.member_id.in_(member_ids)).order_by(replicas.c.number)
    for row in connection.execute(statement):
        values = {name: row._mapping[name] for name in ReplicaRow.__dataclass_fields__}
        values |= {"state": MemberState(row.state), "more_devices": tuple(json.loads(row.more_devices))}
        found[row.member_id].append(ReplicaRow(**values))
    return {member_id: tuple(rows) for member_id, rows in found.items()}


def running(connection: Connection) -> list[int]:
    """The ids of all replicas that are not stopped."""
    return list(
        connection.execute(select(replicas.c.id).where(replicas.c.state != MemberState.STOPPED.value)).scalars()
    )


def member_devices(connection: Connection) -> MemberDevices:
    """The devices with members of ensembles that run, and whether a between-graph member waits for a device."""
    statement = (
        select(replicas.c.device_id, replicas.c.more_devices, ensemble_versions.c.mode)
        .join(ensemble_members, ensemble_members.c.id == replicas.c.member_id)
        .join(ensembles, ensembles.c.id == ensemble_members.c.ensemble_id)
        .join(
            ensemble_versions,
            (ensemble_versions.c.ensemble_id == ensemble_members.c.ensemble_id)
            & (ensemble_versions.c.number == ensemble_members.c.version),
        )
        .where(
            ensembles.c.state.in_([state.value for state in RUNNING_STATES]),
            replicas.c.state.in_([state.value for state in HOLDING_STATES]),
        )
    )
    rows = connection.execute(statement).all()
    placed = [(row.device_id, *json.loads(row.more_devices)) for row in rows if row.device_id is not None]
    wanted = any(row.device_id is None and row.mode == Mode.BETWEEN_GRAPH.value for row in rows)
    return MemberDevices(frozenset(each for devices in placed for each in devices), wanted)


def dedicated(connection: Connection) -> dict[str, str]:
    """The devices dedicated to ensemble members, with the reason, by device id."""
    statement = (
        select(replicas.c.device_id, replicas.c.more_devices, ensembles.c.name, trials.c.number, trials.c.sweep_id)
        .join(ensemble_members, ensemble_members.c.id == replicas.c.member_id)
        .join(trials, trials.c.id == ensemble_members.c.trial_id)
        .join(ensembles, ensembles.c.id == ensemble_members.c.ensemble_id)
        .join(
            ensemble_versions,
            (ensemble_versions.c.ensemble_id == ensemble_members.c.ensemble_id)
            & (ensemble_versions.c.number == ensemble_members.c.version),
        )
        .where(
            ensemble_versions.c.placement == Placement.DEDICATED.value,
            ensembles.c.state.in_([state.value for state in RUNNING_STATES]),
            replicas.c.device_id.is_not(None),
            replicas.c.state.in_([state.value for state in HOLDING_STATES]),
        )
    )
    return {
        device_id: f"dedicated to {member_name(row.number, row.sweep_id)}, a member of ensemble {row.name}"
        for row in connection.execute(statement)
        for device_id in (row.device_id, *json.loads(row.more_devices))
    }
