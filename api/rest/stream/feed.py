"""Looks at the database for all pages that follow, four times a second while there is one; api.

One poller a process, however many pages: events since the last look, the last points of trials that run, the size
of a log, and the health of members once a second. Nothing here runs on the event loop but the handing out.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from podium.api.http.route_context import ServiceContext
from podium.api.rest.stream.pending_events import LogView, Points, Subscription, Watch
from podium.db.queries import trial_pages
from podium.db.queries.trial_pages import AttemptKeyRow
from podium.db.stores import events, metrics
from podium.db.stores.events import News
from podium.sweep.runtime.layout import AttemptDirectory
from podium.sweep.values.errors import PodiumError, ServiceError
from podium.sweep.values.trial import TrialState

LOOK_S = 0.25
HEALTH_S = 1.0
RECENT_S = 3.0  # a page that is new may have read what was true before its stream began
MAX_STREAMS = 200
MAX_STREAMS_EACH = 50  # of one token, its browser sessions included: nobody takes all of them
MAX_BEHIND = 5_000  # events; a page that missed more looks at everything again
MAX_RUNNING = 64  # trials of a sweep whose points are followed, the newest
Health = Callable[[int], Awaitable[dict[str, object] | None]]
log = logging.getLogger("podium.feed")


@dataclass(frozen=True, slots=True)
class Look:
    """What one look has found."""

    news: list[News]
    position: int  # the last event there is
    running: dict[int, list[int]]  # trials by watched sweep
    points: Points
    logs: dict[int, LogView]  # by watched trial


class Feed:
    """Hands what happens to the pages that follow it. Everything but `_look` runs on the event loop."""

    def __init__(self, service: ServiceContext, health: Health) -> None:
        """`health` tells how the members of an ensemble do; None where there is no such ensemble."""
        self._service = service
        self._health = health
        self._subscriptions: set[Subscription] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._position = 0
        self._starting: asyncio.Lock | None = None
        self._closed = False

    @property
    def streams(self) -> int:
        """How many pages follow."""
        return len(self._subscriptions)

    async def subscribe(self, watch: Watch, after: int | None = None, token_id: int = 0) -> Subscription:
        """Follow, from the event `after` on or from just now. Raises `ServiceError` when there are too many.

        It is registered before the past is read, so that nothing falls between; what it hears twice is merged.
        """
        if self._closed:
            raise ServiceError("the service is stopping")
        if len(self._subscriptions) >= MAX_STREAMS:
            raise ServiceError(f"{MAX_STREAMS} pages follow already, and no more can; the page asks by itself instead")
        if sum(each.token_id == token_id for each in self._subscriptions) >= MAX_STREAMS_EACH:
            raise ServiceError(
                f"{MAX_STREAMS_EACH} pages of this token follow already; the page asks by itself instead"
            )
        subscription = Subscription(watch, token_id)
        self._subscriptions.add(subscription)
        try:
            await self._start()
            await self._catch_up(subscription, await asyncio.to_thread(self._recent) if after is None else after)
        except BaseException:
            self.leave(subscription)
            raise
        return subscription

    def leave(self, subscription: Subscription) -> None:
        """A page follows no more; after the last one, nobody looks."""
        self._subscriptions.discard(subscription)
        if not self._subscriptions:
            self._stop()

    def close(self) -> None:
        """All streams end, and none begins."""
        self._closed = True
        for subscription in self._subscriptions:
            subscription.close()
        self._stop()

    async def _start(self) -> None:
        self._starting = self._starting or asyncio.Lock()
        async with self._starting:
            if not self._tasks:
                _, self._position = await asyncio.to_thread(self._span)
                looks = ((self._follow, LOOK_S), (self._follow_health, HEALTH_S))
                self._tasks = [asyncio.create_task(_again(look, every_s)) for look, every_s in looks]

    def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks = []

    async def _catch_up(self, subscription: Subscription, after: int) -> None:
        oldest, newest = await asyncio.to_thread(self._span)
        if after > newest or after < oldest - 1 or newest - after > MAX_BEHIND:
            subscription.begin(newest, reset=True)  # another database, or too far behind
            return
        missed = await asyncio.to_thread(self._news, after)
        subscription.hear(missed, newest)
        subscription.begin(newest)

    async def _follow(self) -> None:
        watches = {subscription.watch for subscription in self._subscriptions}
        look = await asyncio.to_thread(self._look, self._position, watches)
        behind = len(look.news) > MAX_BEHIND
        self._position = look.position
        for subscription in self._subscriptions:
            if behind:
                subscription.begin(look.position, reset=True)
            else:
                subscription.hear(look.news, look.position)
            watch = subscription.watch
            shown = {*look.running.get(watch.sweep_id or 0, ()), watch.trial_id}
            subscription.hear_points({trial_id: look.points[trial_id] for trial_id in shown & look.points.keys()})
            subscription.hear_log(look.logs.get(watch.trial_id or 0))

    async def _follow_health(self) -> None:
        watched = {subscription.watch.ensemble_id for subscription in self._subscriptions} - {None}
        for ensemble_id in watched:
            assert ensemble_id is not None
            found = await self._health(ensemble_id)
            for subscription in self._subscriptions:
                if subscription.watch.ensemble_id == ensemble_id:
                    subscription.hear_health(found)

    # In a thread.

    def _span(self) -> tuple[int, int]:
        with self._service.database.read() as connection:
            return events.span(connection)

    def _recent(self) -> int:
        with self._service.database.read() as connection:
            return events.before(connection, time.time() - RECENT_S)

    def _news(self, after: int) -> list[News]:
        with self._service.database.read() as connection:
            return events.news(connection, after, MAX_BEHIND + 1)

    def _look(self, position: int, watches: Iterable[Watch]) -> Look:
        sweeps = {watch.sweep_id for watch in watches} - {None}
        trials = [watch.trial_id for watch in watches if watch.trial_id is not None]
        with self._service.database.read() as connection:
            news = events.news(connection, position, MAX_BEHIND + 1)
            newest = news[-1].id if len(news) <= MAX_BEHIND and news else position
            if len(news) > MAX_BEHIND:
                _, newest = events.span(connection)
            running = {
                sweep_id: trial_pages.running(connection, sweep_id, MAX_RUNNING)
                for sweep_id in sweeps
                if sweep_id is not None
            }
            current = trial_pages.current_attempts(connection, trials) if trials else []
            shown = {trial_id for ids in running.values() for trial_id in ids}
            shown |= {row.trial_id for row in current if row.state == TrialState.RUNNING}
            points = metrics.latest(connection, sorted(shown)) if shown else {}
        return Look(news, newest, running, points, self._logs(current))

    def _logs(self, current: Iterable[AttemptKeyRow]) -> dict[int, LogView]:
        found = {}
        for row in current:
            folder = self._service.settings.data.attempt(row.sweep_id, row.number, row.attempt)
            try:
                size = AttemptDirectory(folder).log.stat().st_size
            except OSError:  # it has printed nothing yet
                continue
            found[row.trial_id] = LogView(trial_id=row.trial_id, attempt=row.attempt, size_bytes=size)
        return found


async def _again(look: Callable[[], Awaitable[None]], every_s: float) -> None:
    """Look again and again; a database that is away for a while is asked again."""
    failing = False
    while True:
        try:
            await look()
            failing = False
        except PodiumError as error:
            if not failing:
                log.warning("cannot see what happens: %s; trying again", error)
            failing = True
        except Exception:  # else all pages would stand still
            log.exception("cannot see what happens; trying again")
        await asyncio.sleep(every_s)
