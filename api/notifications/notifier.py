"""Follows the events of the service, and delivers what targets want to know; the notifier process.

One thread for each target, so that one that does not answer delays no other one. Everything that waits is in the
database: a restart loses nothing, and sends nothing twice.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from sqlalchemy import Connection

from podium.api.notifications import notable_event_messages
from podium.api.notifications.delivery import Delivery, DeliveryError
from podium.api.notifications.notification_target_file import NotificationKind
from podium.db.schema.database import Database
from podium.db.stores import event_outbox, notification_outbox
from podium.db.stores.notification_outbox import NewNotification, NotificationRow
from podium.sweep.runtime.clock import Clock, SystemClock
from podium.sweep.values.errors import DatabaseError

POLL_S = 1.0
BATCH = 500  # events per transaction
MAX_AGE_S = 86_400.0  # older events, of a time without a notifier, are no news
STALLED_S = 600.0  # in which no trial of a sweep can run
RETRIES_S = (5.0, 30.0, 120.0, 600.0, 3600.0, 3600.0, 3600.0)  # pauses after failed tries; then it has failed
_BAD = frozenset(NotificationKind) - {NotificationKind.FINISHED}
log = logging.getLogger("podium.notifier")


class Notifier:
    """The outbox and its deliveries."""

    def __init__(
        self,
        database: Database,
        deliveries: Sequence[Delivery],
        url: str,
        *,
        clock: Clock | None = None,
        stalled_s: float = STALLED_S,
        retries_s: Sequence[float] = RETRIES_S,
        max_waiting: int = notification_outbox.MAX_WAITING,
    ) -> None:
        """Takes over from an earlier notifier. `url`: of the service, for links."""
        self._database = database
        self._deliveries = deliveries
        self._url = url
        self._clock = clock or SystemClock()
        self._stalled_s = stalled_s
        self._retries_s = retries_s
        self._max_waiting = max_waiting
        self._waiting: dict[int, float] = {}  # sweeps that cannot run, and since when
        self._told: set[int] = set()  # of these, those with a notification
        self._failing: dict[str, str] = {}  # targets whose last try failed, and why
        with database.write() as connection:
            notification_outbox.recover(connection, [each.target.name for each in deliveries], self._clock.wall_s())
            if notification_outbox.cursor(connection) is None:
                notification_outbox.move_cursor(connection, event_outbox.id_range(connection)[1])

    def start(self) -> None:
        """Start a thread for each target."""
        for delivery in self._deliveries:
            threading.Thread(target=self._deliver_always, args=(delivery,), daemon=True).start()

    def run(self, beat: Callable[[], None], is_stopping: Callable[[], bool]) -> None:
        """Follow the events until the service stops. A database that rejects writes is asked again."""
        while not is_stopping():
            beat()
            try:
                more = self.follow()
            except DatabaseError as error:
                log.warning("cannot follow events: %s", error)
                more = False
            if not more:
                time.sleep(POLL_S)

    def follow(self) -> bool:
        """Add notifications for new events and stalled sweeps; returns whether there are more events."""
        now = self._clock.wall_s()
        with self._database.read() as connection:
            found = event_outbox.after(connection, notification_outbox.cursor(connection) or 0, BATCH)
            recent = [event for event in found if event["at"] >= now - MAX_AGE_S]
            new = [*notable_event_messages.messages_of(connection, recent, self._url), *self._stalled(connection, now)]
        if found or new:
            with self._database.write() as connection:
                notification_outbox.add(connection, self._addressed(new), now, self._max_waiting)
                if found:
                    notification_outbox.move_cursor(connection, found[-1]["id"])
        return len(found) == BATCH

    def _stalled(self, connection: Connection, now: float) -> list[notable_event_messages.Message]:
        """About the sweeps that have waited for long, each once until a trial of it starts."""
        blocked = notable_event_messages.waiting_sweeps(connection)
        self._waiting = {sweep_id: self._waiting.get(sweep_id, now) for sweep_id in blocked}
        self._told &= blocked.keys()
        due = [each for each, since in self._waiting.items() if now - since >= self._stalled_s]
        fresh = [each for each in due if each not in self._told]
        self._told |= set(fresh)
        found = [
            notable_event_messages.about_waiting_sweep(connection, each, blocked[each], self._url) for each in fresh
        ]
        return [message for message in found if message is not None]

    def _addressed(self, new: Sequence[notable_event_messages.Message]) -> list[NewNotification]:
        return [
            NewNotification(event_id, kind.value, delivery.target.name, title, body)
            for event_id, kind, title, body in new
            for delivery in self._deliveries
            if kind in delivery.target.kinds
        ]

    def _deliver_always(self, delivery: Delivery) -> None:
        while True:
            try:
                if not self.deliver(delivery):
                    time.sleep(POLL_S)
            except DatabaseError as error:
                log.warning("notifications to %s wait: %s", delivery.target.name, error)
                time.sleep(POLL_S)

    def deliver(self, delivery: Delivery) -> bool:
        """Try the next notification of a target; returns whether there was one."""
        with self._database.write() as connection:
            row = notification_outbox.take_due(connection, delivery.target.name, self._clock.wall_s())
        if row is None:
            return False
        try:
            delivery.send(row.title, row.body, failure=row.kind in _BAD)
        except DeliveryError as error:
            self._retry(delivery, row, str(error))
        else:
            with self._database.write() as connection:
                notification_outbox.finish(connection, row.id, "sent", self._clock.wall_s())
            if self._failing.pop(delivery.target.name, ""):
                log.info("%s takes notifications again", delivery.target.name)
        return True

    def _retry(self, delivery: Delivery, row: NotificationRow, reason: str) -> None:
        now, name = self._clock.wall_s(), delivery.target.name
        if self._failing.get(name) != reason:
            log.warning("%s: %s", name, reason)
        self._failing[name] = reason
        with self._database.write() as connection:
            if row.tries < len(self._retries_s):
                due = now + self._retries_s[row.tries]
                notification_outbox.finish(connection, row.id, "waiting", now, reason=reason, due_at=due)
            else:
                notification_outbox.finish(connection, row.id, "failed", now, reason=reason)
