"""The event outbox: a change and its event are one transaction, and clients follow events by id; all writers.

Events are never deleted: `podium doctor` and rollbacks read old ones.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, insert, select

from podium.db.schema.tables import events
from podium.db.stores.precompiled_sql_statements import DriverStatement

TRIAL_SENDING = "trial.sending"  # its attempt has left the device, and sends its files
_ADD = DriverStatement(insert(events), ("at", "kind", "sweep_id", "trial_id", "ensemble_id", "payload"))


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to add."""

    at: float
    kind: str
    sweep_id: int | None = None
    trial_id: int | None = None
    ensemble_id: int | None = None
    payload: dict[str, Any] = field(default_factory=dict)


class EventSummary(NamedTuple):
    """An event without its payload: enough to know what to reload."""

    id: int
    kind: str
    sweep_id: int | None
    trial_id: int | None
    ensemble_id: int | None


def add(connection: Connection, new: Sequence[NewEvent]) -> None:
    """Add events in the transaction of their changes."""
    rows = [
        {
            "at": event.at,
            "kind": event.kind,
            "sweep_id": event.sweep_id,
            "trial_id": event.trial_id,
            "ensemble_id": event.ensemble_id,
            "payload": json.dumps(event.payload),
        }
        for event in new
    ]
    if rows:
        _ADD.execute_many(connection, rows)


def after(connection: Connection, event_id: int, limit: int = 1000) -> list[dict[str, Any]]:
    """The events after `event_id`, oldest first."""
    statement = select(events).where(events.c.id > event_id).order_by(events.c.id).limit(limit)
    return [{**row._mapping, "payload": json.loads(row.payload)} for row in connection.execute(statement)]


def of_ensemble(connection: Connection, ensemble_id: int, limit: int) -> list[dict[str, Any]]:
    """The last events of an ensemble, newest first."""
    statement = select(events).where(events.c.ensemble_id == ensemble_id).order_by(events.c.id.desc()).limit(limit)
    return [{**row._mapping, "payload": json.loads(row.payload)} for row in connection.execute(statement)]


def summaries(connection: Connection, event_id: int, limit: int) -> list[EventSummary]:
    """The events after `event_id` without payloads, oldest first."""
    columns = (events.c[name] for name in EventSummary._fields)
    statement = select(*columns).where(events.c.id > event_id).order_by(events.c.id).limit(limit)
    return [EventSummary(*row) for row in connection.execute(statement)]


def id_range(connection: Connection) -> tuple[int, int]:
    """The ids of the oldest and the newest event; 0 and 0 before the first one."""
    oldest = connection.execute(select(func.min(events.c.id))).scalar_one_or_none()
    newest = connection.execute(select(func.max(events.c.id))).scalar_one_or_none()
    return oldest or 0, newest or 0


def before(connection: Connection, at: float) -> int:
    """The id of the last event before `at`; 0 without one. Scans back from the newest."""
    older = select(events.c.id).where(events.c.at < at).order_by(events.c.id.desc()).limit(1)
    return connection.execute(older).scalar_one_or_none() or 0
