"""The lease of the ensemble host: one row with an epoch that fences out a replaced host; host process."""

from __future__ import annotations

from sqlalchemy import Connection, select

from podium.db.schema.dialect import insert
from podium.db.schema.tables import host_lease
from podium.db.stores import leader_lease
from podium.db.stores.precompiled_sql_statements import DriverStatement
from podium.sweep.values.errors import FencedError

_EPOCH = DriverStatement(select(host_lease.c.epoch).where(host_lease.c.id == 1))


def take(connection: Connection, holder: str, at: float, *, leader_epoch: int = 0) -> int:
    """Take the lease; returns the new epoch, which is higher than the last one.

    `leader_epoch`: as `scheduler_lease.take`. Raises `FencedError`.
    """
    if leader_epoch:
        leader_lease.check(connection, leader_epoch)
    first = insert(host_lease).values(id=1, epoch=1, holder=holder, taken_at=at)
    later = {"epoch": host_lease.c.epoch + 1, "holder": holder, "taken_at": at}
    statement = first.on_conflict_do_update(index_elements=["id"], set_=later)
    epoch: int = connection.execute(statement.returning(host_lease.c.epoch)).scalar_one()
    return epoch


def check(connection: Connection, epoch: int) -> None:
    """Raises `FencedError` unless the lease has this epoch; to be called in the transaction that it guards."""
    if _EPOCH.execute(connection, {}).fetchone()[0] != epoch:
        raise FencedError("another ensemble host has taken over; this one must not write")
