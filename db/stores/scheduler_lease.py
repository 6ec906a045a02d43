"""The scheduler's lease: one row with an epoch that fences out a replaced scheduler; scheduler."""

from __future__ import annotations

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from podium.db.schema.tables import scheduler_lease
from podium.db.stores.driver_statements import DriverStatement
from podium.sweep.values.errors import FencedError

_EPOCH = DriverStatement(select(scheduler_lease.c.epoch).where(scheduler_lease.c.id == 1))


def take(connection: Connection, holder: str, at: float) -> int:
    """Take the lease; returns the new epoch."""
    first = insert(scheduler_lease).values(id=1, epoch=1, holder=holder, taken_at=at, seen_at=at)
    later = {"epoch": scheduler_lease.c.epoch + 1, "holder": holder, "taken_at": at, "seen_at": at}
    statement = first.on_conflict_do_update(index_elements=["id"], set_=later)
    epoch: int = connection.execute(statement.returning(scheduler_lease.c.epoch)).scalar_one()
    return epoch


def check(connection: Connection, epoch: int) -> None:
    """Raises `FencedError` unless the lease has this epoch; to be called in the transaction that it guards."""
    if _EPOCH.execute(connection, {}).scalar_one() != epoch:
        raise FencedError
