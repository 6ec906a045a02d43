"""Warnings of sweeps: at most one per code, deleted when it no longer holds; scheduler and api."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, delete, exists, select

from podium.db.schema.dialect import insert
from podium.db.schema.tables import sweep_warnings, sweeps
from podium.db.stores import event_outbox
from podium.db.stores.event_outbox import NewEvent
from podium.sweep.lifecycle.database_changes import SweepWarned


@dataclass(frozen=True, slots=True)
class WarningRow:
    """A warning of a sweep."""

    code: str
    message: str
    at: float


def change(connection: Connection, changes: Sequence[SweepWarned]) -> None:
    """Set or delete warnings, each with an event."""
    for item in changes:
        there = and_(sweep_warnings.c.sweep_id == item.sweep_id, sweep_warnings.c.code == item.code.value)
        if not item.message:
            connection.execute(delete(sweep_warnings).where(there))
        elif connection.execute(select(exists().where(sweeps.c.id == item.sweep_id))).scalar_one():
            values = {"message": item.message, "at": item.at}
            statement = insert(sweep_warnings).values(sweep_id=item.sweep_id, code=item.code.value, **values)
            connection.execute(statement.on_conflict_do_update(index_elements=["sweep_id", "code"], set_=values))
    event_outbox.add(
        connection,
        [
            NewEvent(item.at, "sweep.warning", item.sweep_id, payload={"code": item.code, "message": item.message})
            for item in changes
        ],
    )


def warnings_of(connection: Connection, sweep_ids: Sequence[int]) -> dict[int, tuple[WarningRow, ...]]:
    """The warnings of these sweeps, by sweep, oldest first."""
    statement = select(sweep_warnings).where(sweep_warnings.c.sweep_id.in_(sweep_ids))
    found: dict[int, tuple[WarningRow, ...]] = {}
    for row in connection.execute(statement.order_by(sweep_warnings.c.at, sweep_warnings.c.code)):
        found[row.sweep_id] = (*found.get(row.sweep_id, ()), WarningRow(row.code, row.message, row.at))
    return found
