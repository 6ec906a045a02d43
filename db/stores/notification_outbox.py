"""The outbox of notifications: one row for each event and target; notifier.

A row is `sending` before anything is sent, so that no notification is sent twice: after a kill, nobody knows whether it
arrived, and it becomes `unknown`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Select, delete, func, select, text, update

from podium.db.schema import dialect
from podium.db.schema.tables import STARTS, events, notification_cursor, notifications

MAX_WAITING = 1_000  # of one target: the oldest are dropped
KEPT_S = 30 * 86_400.0  # after which rows are deleted


@dataclass(frozen=True, slots=True)
class NewNotification:
    """A notification to send to a target."""

    event_id: int
    kind: str
    target: str
    title: str
    body: str


@dataclass(frozen=True, slots=True)
class NotificationRow:
    """A notification that waits for its target."""

    id: int
    kind: str
    title: str
    body: str
    tries: int


def cursor(connection: Connection) -> int | None:
    """The last event that was looked at; None before the first start of a notifier."""
    found: int | None = connection.execute(select(notification_cursor.c.event_id)).scalar_one_or_none()
    return found


def move_cursor(connection: Connection, event_id: int) -> None:
    """Events up to this one have been looked at."""
    statement = dialect.insert(notification_cursor).values(id=1, event_id=event_id)
    connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_={"event_id": event_id}))


def add(connection: Connection, new: Sequence[NewNotification], at: float, most: int = MAX_WAITING) -> None:
    """Add notifications, each event and kind once per target; of each target, the newest `most` wait."""
    for item in new:
        values = {name: getattr(item, name) for name in NewNotification.__dataclass_fields__}
        values |= {"state": "waiting", "tries": 0, "due_at": at, "created_at": at, "changed_at": at}
        connection.execute(dialect.insert(notifications).values(values).on_conflict_do_nothing())
    for target in {item.target for item in new}:
        waiting = (notifications.c.target == target) & (notifications.c.state == "waiting")
        newest = select(notifications.c.id).where(waiting).order_by(notifications.c.id.desc())
        oldest_kept = newest.limit(1).offset(most - 1).scalar_subquery()
        too_many = waiting & (notifications.c.id < oldest_kept)
        reason = f"more than {most:,} notifications waited for this target"
        connection.execute(update(notifications).where(too_many).values(state="dropped", reason=reason, changed_at=at))


def is_known(connection: Connection, event_id: int, kind: str) -> bool:
    """Whether there is a notification of this kind about the event."""
    where = (notifications.c.event_id == event_id) & (notifications.c.kind == kind)
    return connection.execute(select(notifications.c.id).where(where).limit(1)).first() is not None


def take_due(connection: Connection, target: str, now: float) -> NotificationRow | None:
    """The oldest notification of a target whose time has come; it is `sending` from now on."""
    due = (notifications.c.target == target) & (notifications.c.state == "waiting") & (notifications.c.due_at <= now)
    columns = [notifications.c[name] for name in NotificationRow.__dataclass_fields__]
    row = connection.execute(select(*columns).where(due).order_by(notifications.c.id).limit(1)).one_or_none()
    if row is None:
        return None
    mine = notifications.c.id == row.id
    connection.execute(update(notifications).where(mine).values(state="sending", tries=row.tries + 1, changed_at=now))
    return NotificationRow(*row)


def finish(
    connection: Connection, row_id: int, state: str, at: float, *, reason: str = "", due_at: float | None = None
) -> None:
    """The result of a try: `sent`, `failed`, or `waiting` until `due_at`."""
    values = {"state": state, "reason": reason, "changed_at": at, **({} if due_at is None else {"due_at": due_at})}
    connection.execute(update(notifications).where(notifications.c.id == row_id).values(values))


def recover(connection: Connection, targets: Collection[str], at: float) -> None:
    """At the start of a notifier: close what an earlier one was sending, and what waits for targets that are gone."""
    interrupted = update(notifications).where(notifications.c.state == "sending")
    connection.execute(
        interrupted.values(state="unknown", reason="the service ended while it was sent; not sent again", changed_at=at)
    )
    gone = (notifications.c.state == "waiting") & notifications.c.target.not_in(list(targets))
    connection.execute(
        update(notifications).where(gone).values(state="dropped", reason="the target was removed", changed_at=at)
    )
    connection.execute(delete(notifications).where(notifications.c.created_at < at - KEPT_S))


def last_start(connection: Connection, sweep_id: int) -> int:
    """The id of the last event that began something in a sweep: a trial, or the sweep itself."""
    found: int | None = connection.execute(starts_of(sweep_id)).scalar_one_or_none()
    return found or 0


def starts_of(sweep_id: int) -> Select[int]:
    """The query of `last_start`, which the partial index `ix_events_starts` answers."""
    return select(func.max(events.c.id)).where(events.c.sweep_id == sweep_id, text(STARTS))
