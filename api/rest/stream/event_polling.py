"""Polls the database for all clients of the event stream, four times per second while there are any; api.

One poller per process: events since the last poll, the last points of running trials, log sizes, and once per second
the health of ensemble members. Queries run in threads.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from podium.api.http.service_context import ServiceContext
from podium.api.rest.stream.pending_events import LogView, Points, Subscription, Watch
from podium.db.queries import attempt_reader
from podium.db.queries.attempt_reader import AttemptKeyRow
from podium.db.stores import event_outbox, metric_summaries
from podium.db.stores.event_outbox import EventSummary
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values.errors import DatabaseError, PodiumError, ServiceError
from podium.sweep.values.states import TrialState

POLL_S = 0.25
HEALTH_S = 1.0
RECENT_S = 3.0  # a new page may have loaded older data before its stream started
AWAY_S = 2.0  # without the database for this time, streams end: pages then show that the service does not respond
MAX_RUNNING = 64  # of the newest trials of a sweep, whose points are sent
Health = Callable[[int], Awaitable[dict[str, object] | None]]
log = logging.getLogger("podium.feed")


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """Limits of the event streams of one process."""

    streams: int = 200
    streams_per_token: int = 50  # of one token and its sessions
    behind_events: int = 5_000  # a client that missed more reloads everything
    recheck_s: float = 5.0  # between two checks whether a client is still authorized


LIMITS = StreamLimits()


@dataclass(frozen=True, slots=True)
class Poll:
    """The result of one poll."""

    news: list[EventSummary]
    position: int  # id of the last event
    running: dict[int, list[int]]  # trials by watched sweep
    points: Points
    logs: dict[int, LogView]  # by watched trial


class Feed:
    """Distributes events to subscriptions. Runs on the event loop, except where marked."""

    def __init__(self, service: ServiceContext, health: Health, limits: StreamLimits = LIMITS) -> None:
        """`health` returns the health of an ensemble's members; None if there is no such ensemble."""
        self.limits = limits
        self._service = service
        self._health = health
        self._subscriptions: set[Subscription] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._position = 0
        self._starting: asyncio.Lock | None = None
        self._closed = False
        self._told = asyncio.Event()  # there are new events, where the database tells
        self._listens = self._had_news = False
        self._read_s = 0.0  # when the database was last read

    @property
    def streams(self) -> int:
        """The number of subscriptions."""
        return len(self._subscriptions)

    @property
    def polls(self) -> bool:
        """Whether the database is polled: only while there are subscriptions."""
        return bool(self._tasks)

    async def subscribe(self, watch: Watch, after: int | None = None, token_id: int = 0) -> Subscription:
        """Subscribe to events after the event `after`, by default to new ones. Raises `ServiceError` at a limit.

        The subscription is registered before past events are read, so that none is missed; duplicates are merged.
        """
        if self._closed:
            raise ServiceError("the service is stopping")
        if len(self._subscriptions) >= self.limits.streams:
            raise ServiceError(f"event-stream limit reached ({self.limits.streams}); falling back to polling")
        most = self.limits.streams_per_token
        if sum(each.token_id == token_id for each in self._subscriptions) >= most:
            raise ServiceError(f"event-stream limit of this token reached ({most}); falling back to polling")
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
        """Unsubscribe. After the last subscription, polling stops."""
        self._subscriptions.discard(subscription)
        if not self._subscriptions:
            self._stop()

    def close(self) -> None:
        """End all streams and refuse new ones."""
        self._closed = True
        for subscription in self._subscriptions:
            subscription.close()
        self._stop()

    async def _start(self) -> None:
        self._starting = self._starting or asyncio.Lock()
        async with self._starting:
            if not self._tasks:
                _, self._position = await asyncio.to_thread(self._span)
                self._read_s = time.monotonic()
                self._listen()
                polls = ((self._follow, self._pause), (self._follow_health, partial(asyncio.sleep, HEALTH_S)))
                self._tasks = [asyncio.create_task(_repeat(poll, pause)) for poll, pause in polls]

    def _listen(self) -> None:
        """Poll as soon as the database tells of new events."""
        if not self._listens:
            self._listens = True
            self._service.database.on_events(partial(self._tell, asyncio.get_running_loop()))

    def _tell(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(self._told.set)

    async def _pause(self) -> None:
        """Wait for the time of the next poll. Events in quick succession are sent together, four times per second."""
        if self._had_news:
            await asyncio.sleep(POLL_S)
        else:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._told.wait(), POLL_S)
        self._told.clear()

    def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks = []

    async def _catch_up(self, subscription: Subscription, after: int) -> None:
        oldest, newest = await asyncio.to_thread(self._span)
        if after > newest or after < oldest - 1 or newest - after > self.limits.behind_events:
            subscription.begin(newest, reset=True)  # another database, or too many missed events
            return
        missed = await asyncio.to_thread(self._news, after)
        subscription.add_events(missed, newest)
        subscription.begin(newest)

    async def _follow(self) -> None:
        watches = {subscription.watch for subscription in self._subscriptions}
        try:
            poll = await asyncio.to_thread(self._poll, self._position, watches)
        except DatabaseError:
            self._end_without_database(time.monotonic())
            raise
        self._read_s = time.monotonic()
        self._had_news = bool(poll.news)
        behind = len(poll.news) > self.limits.behind_events
        self._position = poll.position
        for subscription in self._subscriptions:
            if behind:
                subscription.begin(poll.position, reset=True)
            else:
                subscription.add_events(poll.news, poll.position)
            watch = subscription.watch
            shown = {*poll.running.get(watch.sweep_id or 0, ()), watch.trial_id}
            subscription.add_points({trial_id: poll.points[trial_id] for trial_id in shown & poll.points.keys()})
            subscription.add_log(poll.logs.get(watch.trial_id or 0))

    def _end_without_database(self, now_s: float) -> None:
        if now_s - self._read_s > AWAY_S:
            for subscription in self._subscriptions:
                subscription.close()

    async def _follow_health(self) -> None:
        watched = {subscription.watch.ensemble_id for subscription in self._subscriptions} - {None}
        for ensemble_id in watched:
            assert ensemble_id is not None
            found = await self._health(ensemble_id)
            for subscription in self._subscriptions:
                if subscription.watch.ensemble_id == ensemble_id:
                    subscription.add_health(found)

    # These run in a thread.

    def _span(self) -> tuple[int, int]:
        with self._service.database.read() as connection:
            return event_outbox.id_range(connection)

    def _recent(self) -> int:
        with self._service.database.read() as connection:
            return event_outbox.before(connection, time.time() - RECENT_S)

    def _news(self, after: int) -> list[EventSummary]:
        with self._service.database.read() as connection:
            return event_outbox.summaries(connection, after, self.limits.behind_events + 1)

    def _poll(self, position: int, watches: Iterable[Watch]) -> Poll:
        sweeps = {watch.sweep_id for watch in watches} - {None}
        trials = [watch.trial_id for watch in watches if watch.trial_id is not None]
        with self._service.database.read() as connection:
            news = event_outbox.summaries(connection, position, self.limits.behind_events + 1)
            newest = news[-1].id if len(news) <= self.limits.behind_events and news else position
            if len(news) > self.limits.behind_events:
                _, newest = event_outbox.id_range(connection)
            running = {
                sweep_id: attempt_reader.running(connection, sweep_id, MAX_RUNNING)
                for sweep_id in sweeps
                if sweep_id is not None
            }
            current = attempt_reader.current_attempts(connection, trials) if trials else []
            shown = {trial_id for ids in running.values() for trial_id in ids}
            shown |= {row.trial_id for row in current if row.state == TrialState.RUNNING}
            points = metric_summaries.latest(connection, sorted(shown)) if shown else {}
        return Poll(news, newest, running, points, logs=self._logs(current))

    def _logs(self, current: Iterable[AttemptKeyRow]) -> dict[int, LogView]:
        found = {}
        for row in current:
            folder = self._service.settings.data.attempt(row.sweep_id, row.number, row.attempt, row.nonce)
            try:
                size = AttemptDirectory(folder).log.stat().st_size
            except OSError:  # no output yet
                continue
            found[row.trial_id] = LogView(trial_id=row.trial_id, attempt=row.attempt, size_bytes=size)
        return found


async def _repeat(poll: Callable[[], Awaitable[None]], pause: Callable[[], Awaitable[None]]) -> None:
    """Poll forever, and retry while the database is unavailable."""
    failing = False
    while True:
        try:
            await poll()
            failing = False
        except PodiumError as error:
            if not failing:
                log.warning("cannot read events: %s; retrying", error)
            failing = True
        except Exception:  # otherwise no client would receive events again
            log.exception("cannot read events; retrying")
        await pause()
