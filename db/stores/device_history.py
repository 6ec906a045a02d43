"""The history of device states with reasons: written by the scheduler, read by the timeline; scheduler and api.

A row holds the state from its time on. Running trials are in the attempts. If a scheduler was killed, the next one
writes the end of its intervals, at its last heartbeat.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, select, update

from podium.db.schema.tables import device_spells, devices, scheduler_lease
from podium.db.stores.precompiled_sql_statements import RowInsert
from podium.sweep.values.device_state import RecordedState

MAX_PER_DEVICE = 20_000  # newest rows of one device
INSERTS_PER_DELETION = 101  # old rows are deleted once per this many inserts
STOPPED = "the service was stopped"
KILLED = "the scheduler was not running: it or the machine stopped unexpectedly"
SLOT_STARTS = "the service was starting"
ABSENT = "the service was started without this device"

_ADD = RowInsert(device_spells, ("device_id", "at", "state", "reason"))
_LAST_ID = select(func.max(device_spells.c.id))


class DeviceStateRow(NamedTuple):
    """The state of a device from `at` until the next row; `reason`: why it runs no trial."""

    at: float
    state: RecordedState
    reason: str


def add(connection: Connection, new: Sequence[tuple[str, DeviceStateRow]], *, kept: int = MAX_PER_DEVICE) -> None:
    """Add new states of devices, and from time to time delete all but the `kept` newest states of one.

    `new`: the device of each state, and the state.
    """
    if not new:
        return
    _ADD.execute(connection, [(device_id, spell.at, spell.state.value, spell.reason) for device_id, spell in new])
    last: int = connection.execute(_LAST_ID).scalar_one()
    for added, (device_id, _) in enumerate(new, last - len(new) + 1):
        if added % INSERTS_PER_DELETION == 0:
            _delete_oldest(connection, device_id, kept)


def take_over(connection: Connection, at: float) -> None:
    """Write the states that the previous scheduler could not. To be called before the new one takes the lease."""
    seen_at = connection.execute(select(scheduler_lease.c.seen_at)).scalar_one_or_none()
    for device_id, last in _latest(connection):
        if last.state is RecordedState.GONE:
            continue
        missing = [DeviceStateRow(at, RecordedState.STARTING, SLOT_STARTS)]
        if last.state is not RecordedState.DOWN and seen_at is not None:
            missing.insert(0, DeviceStateRow(min(at, max(seen_at, last.at)), RecordedState.DOWN, KILLED))
        add(connection, [(device_id, spell) for spell in missing])
        _delete_oldest(connection, device_id, MAX_PER_DEVICE)


def record_heartbeat(connection: Connection, at: float) -> None:
    """Record the scheduler's heartbeat."""
    connection.execute(update(scheduler_lease).values(seen_at=at))


def stop(connection: Connection, at: float) -> None:
    """Record a regular stop of the scheduler."""
    record_heartbeat(connection, at)
    down = DeviceStateRow(at, RecordedState.DOWN, STOPPED)
    add(connection, [(device_id, down) for device_id in connection.execute(select(devices.c.id)).scalars()])


def record_departures(connection: Connection, there: Collection[str], at: float) -> None:
    """Mark devices of earlier starts that are not in `there` as gone."""
    gone = DeviceStateRow(at, RecordedState.GONE, ABSENT)
    found = _latest(connection)
    add(connection, [(name, gone) for name, last in found if name not in there and last.state != gone.state])


def seen_at(connection: Connection) -> float | None:
    """The last heartbeat of the scheduler; None before the first."""
    found: float | None = connection.execute(select(scheduler_lease.c.seen_at)).scalar_one_or_none()
    return found


def known(connection: Connection) -> Iterator[str]:
    """All devices with rows, also those that are gone; an index skip scan."""
    name = connection.execute(select(func.min(device_spells.c.device_id))).scalar_one()
    while name is not None:
        yield name
        later = select(func.min(device_spells.c.device_id)).where(device_spells.c.device_id > name)
        name = connection.execute(later).scalar_one()


def begins_at(connection: Connection) -> float | None:
    """The time of the oldest row; None without rows."""
    first = select(func.min(device_spells.c.at))
    found = [
        connection.execute(first.where(device_spells.c.device_id == name)).scalar_one() for name in known(connection)
    ]
    return min(found, default=None)


def between(connection: Connection, device_id: str, from_s: float, to_s: float) -> list[tuple[float, str, str]]:
    """The (at, state, reason) rows of a device from `from_s` to `to_s`, oldest first; the first may start earlier.

    The states are the values of `RecordedState`. There may be KEPT rows: plain tuples of the driver are five times as
    fast as anything else.
    """
    mine = device_spells.c.device_id == device_id
    first = select(func.max(device_spells.c.at)).where(mine, device_spells.c.at <= from_s).scalar_subquery()
    columns = select(device_spells.c.at, device_spells.c.state, device_spells.c.reason)
    found = columns.where(mine, device_spells.c.at >= func.coalesce(first, from_s), device_spells.c.at < to_s)
    cursor: Any = connection.execute(found.order_by(device_spells.c.at, device_spells.c.id)).cursor
    rows: list[tuple[float, str, str]] = cursor.fetchall()
    return rows


def _latest(connection: Connection) -> list[tuple[str, DeviceStateRow]]:
    found = []
    for device_id in list(known(connection)):
        last = select(device_spells).where(device_spells.c.device_id == device_id)
        row = connection.execute(last.order_by(device_spells.c.at.desc(), device_spells.c.id.desc()).limit(1)).one()
        found.append((device_id, DeviceStateRow(row.at, RecordedState(row.state), row.reason)))
    return found


def _delete_oldest(connection: Connection, device_id: str, kept: int) -> None:
    """Delete old rows, so that a device that changes every second does not fill the disk."""
    mine = device_spells.c.device_id == device_id
    newest = select(device_spells.c.at).where(mine).order_by(device_spells.c.at.desc()).offset(kept).limit(1)
    connection.execute(delete(device_spells).where(mine, device_spells.c.at <= newest.scalar_subquery()))
