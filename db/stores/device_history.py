"""What each device was when no trial ran on it, and why: the scheduler writes it, the timeline reads it.

A row says what a device is from then on. Trials are not written here: the attempts have them. A scheduler that was
killed could not say so; the next one does it in its place, from when that was last seen on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, update

from podium.db.schema.tables import device_spells, devices, scheduler_lease

KEPT = 20_000  # rows of one device, the newest
_EVERY = 101  # rows are thinned out when so many have been written
READY, DOWN, STARTING, GONE = "ready", "down", "starting", "gone"
STOPPED = "the service was stopped"
KILLED = "the scheduler was not running: it ended without notice, or the machine did"
SLOT_STARTS = "the service was starting"
NOT_THERE = "it was not among the devices that the service started with"

_ADD = insert(device_spells).returning(device_spells.c.id)


class SpellRow(NamedTuple):
    """From `at` on, until the next, a device is in this state; `reason` says why it runs no trial, if it runs none."""

    at: float
    state: str  # ready, dedicated, set aside, lost; down, starting and gone with the service
    reason: str


def add(connection: Connection, device_id: str, spell: SpellRow) -> None:
    """A device is something else from now on."""
    values = {"device_id": device_id, "at": spell.at, "state": spell.state, "reason": spell.reason}
    added: int = connection.execute(_ADD, values).scalar_one()
    if added % _EVERY == 0:
        _thin(connection, device_id)


def take_over(connection: Connection, at: float) -> None:
    """A scheduler starts: what the one before it could not write any more. To be called before it takes the lease."""
    seen_at = connection.execute(select(scheduler_lease.c.seen_at)).scalar_one_or_none()
    for device_id, last in _last_ones(connection):
        if last.state == GONE:
            continue
        if last.state != DOWN and seen_at is not None:
            add(connection, device_id, SpellRow(min(at, max(seen_at, last.at)), DOWN, KILLED))
        add(connection, device_id, SpellRow(at, STARTING, SLOT_STARTS))
        _thin(connection, device_id)


def see(connection: Connection, at: float) -> None:
    """The scheduler goes on."""
    connection.execute(update(scheduler_lease).values(seen_at=at))


def stop(connection: Connection, at: float) -> None:
    """The scheduler ends, in order."""
    see(connection, at)
    for device_id in connection.execute(select(devices.c.id)).scalars().all():
        add(connection, device_id, SpellRow(at, DOWN, STOPPED))


def leave(connection: Connection, there: Collection[str], at: float) -> None:
    """All slots that there are to be are open: other devices, of an earlier start, are not there any more."""
    for device_id, last in _last_ones(connection):
        if device_id not in there and last.state != GONE:
            add(connection, device_id, SpellRow(at, GONE, NOT_THERE))


def seen_at(connection: Connection) -> float | None:
    """When the scheduler was last known to go on; None before the first."""
    found: float | None = connection.execute(select(scheduler_lease.c.seen_at)).scalar_one_or_none()
    return found


def known(connection: Connection) -> Iterator[str]:
    """Every device of which something is written, also those that are gone; from one index entry to the next."""
    name = connection.execute(select(func.min(device_spells.c.device_id))).scalar_one()
    while name is not None:
        yield name
        later = select(func.min(device_spells.c.device_id)).where(device_spells.c.device_id > name)
        name = connection.execute(later).scalar_one()


def begins_at(connection: Connection) -> float | None:
    """When the first word was written of any device that is kept; None before that."""
    first = select(func.min(device_spells.c.at))
    found = [
        connection.execute(first.where(device_spells.c.device_id == name)).scalar_one() for name in known(connection)
    ]
    return min(found, default=None)


def between(connection: Connection, device_id: str, from_s: float, to_s: float) -> list[tuple[float, str, str]]:
    """What a device was from `from_s` to `to_s`, oldest first, as in `SpellRow`; the first one may have begun before.

    There may be KEPT of them: made into anything else than the driver's tuples they would take five times as long.
    """
    mine = device_spells.c.device_id == device_id
    first = select(func.max(device_spells.c.at)).where(mine, device_spells.c.at <= from_s).scalar_subquery()
    columns = select(device_spells.c.at, device_spells.c.state, device_spells.c.reason)
    found = columns.where(mine, device_spells.c.at >= func.coalesce(first, from_s), device_spells.c.at < to_s)
    cursor: Any = connection.execute(found.order_by(device_spells.c.at, device_spells.c.id)).cursor
    rows: list[tuple[float, str, str]] = cursor.fetchall()
    return rows


def _last_ones(connection: Connection) -> list[tuple[str, SpellRow]]:
    found = []
    for device_id in list(known(connection)):
        last = select(device_spells).where(device_spells.c.device_id == device_id)
        row = connection.execute(last.order_by(device_spells.c.at.desc(), device_spells.c.id.desc()).limit(1)).one()
        found.append((device_id, SpellRow(row.at, row.state, row.reason)))
    return found


def _thin(connection: Connection, device_id: str) -> None:
    """Old rows go, so that a device that changes every second for months does not fill the disk."""
    mine = device_spells.c.device_id == device_id
    newest = select(device_spells.c.at).where(mine).order_by(device_spells.c.at.desc()).offset(KEPT).limit(1)
    connection.execute(delete(device_spells).where(mine, device_spells.c.at <= newest.scalar_subquery()))
