"""The scheduler's lease: one row with an epoch that fences out a replaced scheduler; scheduler."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from podium.db.schema.dialect import insert
from podium.db.schema.tables import scheduler_lease
from podium.db.stores import leader_lease
from podium.db.stores.precompiled_sql_statements import DriverStatement
from podium.sweep.values.errors import FencedError

_EPOCH = DriverStatement(select(scheduler_lease.c.epoch).where(scheduler_lease.c.id == 1))


def take(connection: Connection, holder: str, at: float, *, after: int = 0, leader_epoch: int = 0) -> int:
    """Take the lease; returns the new epoch, which is higher than the last one and than `after`.

    `leader_epoch`: of the lease of the service, if its database may have several. Raises `FencedError` if another
    service leads.
    """
    if leader_epoch:
        leader_lease.check(connection, leader_epoch)
    first = insert(scheduler_lease).values(id=1, epoch=after + 1, holder=holder, taken_at=at, seen_at=at)
    later = {"epoch": func.max(scheduler_lease.c.epoch, after) + 1, "holder": holder, "taken_at": at, "seen_at": at}
    statement = first.on_conflict_do_update(index_elements=["id"], set_=later)
    epoch: int = connection.execute(statement.returning(scheduler_lease.c.epoch)).scalar_one()
    return epoch


def check(connection: Connection, epoch: int) -> None:
    """Raises `FencedError` unless the lease has this epoch; to be called in the transaction that it guards."""
    if _EPOCH.execute(connection, {}).fetchone()[0] != epoch:
        raise FencedError
