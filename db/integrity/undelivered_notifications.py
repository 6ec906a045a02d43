"""What did not reach the targets of notifications; the process of `podium doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, func, select, text

from podium.db.integrity.invariant import ALWAYS, Breach
from podium.db.schema.tables import notifications

_LOST = ("failed", "dropped", "unknown")


def failing_targets(connection: Connection) -> Iterator[Breach]:
    """Each target whose last result is a failure, as a note; names and reasons have no secrets."""
    newest = (
        select(notifications.c.target, func.max(notifications.c.changed_at).label("at"))
        .where(notifications.c.state.in_((*_LOST, "sent")) | (notifications.c.tries > 0))
        .group_by(notifications.c.target)
        .subquery()
    )
    last = (
        select(notifications.c.target, notifications.c.state, notifications.c.reason)
        .join(newest, (newest.c.target == notifications.c.target) & (newest.c.at == notifications.c.changed_at))
        .where(notifications.c.state.not_in(("sent", "sending")))
        .order_by(notifications.c.target)
    )
    told = set[str]()
    for target, state, reason in connection.execute(last).all():
        if target in told:
            continue
        told.add(target)
        mine = notifications.c.target == target
        waiting, lost = connection.execute(
            select(
                func.count().filter(notifications.c.state == "waiting"),
                func.count().filter(notifications.c.state.in_(_LOST)),
            ).where(mine)
        ).one()
        wrong = f"the last notification was not sent: {reason or state}; {waiting} wait, {lost} were not sent"
        yield Breach("notifications", {"target": target}, wrong, note_when=(ALWAYS,))


def cursor_problems(connection: Connection) -> Iterator[Breach]:
    """The notifier has looked at events that are not there: it would skip the next ones."""
    row = connection.execute(
        text("SELECT c.event_id, (SELECT max(id) FROM events) AS newest FROM notification_cursor c")
    ).one_or_none()
    if row is not None and row.event_id > (row.newest or 0):
        yield Breach("notifications", {"event": row.event_id}, f"looked at, but the newest event is {row.newest}")
