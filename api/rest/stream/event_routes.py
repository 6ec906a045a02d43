"""`GET /api/v1/events`: server-sent events that tell a client what to reload; api."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from podium.api.http.authentication import authorize, viewer
from podium.api.http.request_limits import MAX_ID
from podium.api.http.service_context import ServiceContext
from podium.api.rest.ensembles.ensemble_response import ensemble_view
from podium.api.rest.stream.event_polling import LIMITS, Feed, StreamLimits
from podium.api.rest.stream.pending_events import Subscription, Watch
from podium.db.access.tokens import Holder, Role
from podium.sweep.values.errors import ForbiddenError, NotFoundError, PodiumError, UnauthorizedError

router = APIRouter(prefix="/api/v1", tags=["events"])
Id = Annotated[int | None, Query(ge=1, le=MAX_ID)]


def feed_of(service: ServiceContext, limits: StreamLimits = LIMITS) -> Feed:
    """Create the feed of an app."""

    async def health(ensemble_id: int) -> dict[str, Any] | None:
        try:
            view = await asyncio.to_thread(ensemble_view, service, ensemble_id)
        except NotFoundError:
            return None
        return {"ensemble_id": ensemble_id, "members": view.model_dump(mode="json")["members"]}

    return Feed(service, health, limits)


async def _subscribed(
    request: Request,
    sweep: Id = None,
    trial: Id = None,
    ensemble: Id = None,
    after: Annotated[int | None, Query(ge=0, le=MAX_ID, description="the id of the last message received")] = None,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
    holder: Holder = viewer,
) -> AsyncIterator[Subscription]:
    """A subscription for the duration of the request. A browser that reconnects sends Last-Event-ID."""
    if last_event_id is not None and last_event_id.isascii() and last_event_id.isdigit():
        after = int(last_event_id)
    feed: Feed = request.app.state.feed
    subscription = await feed.subscribe(Watch(sweep, trial, ensemble), after, holder.token_id)
    try:
        yield subscription
    finally:
        feed.leave(subscription)


@router.get("/events", response_class=EventSourceResponse, dependencies=[viewer])
async def follow_events(
    request: Request, subscription: Annotated[Subscription, Depends(_subscribed)]
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events, at most four times per second.

    `changes` lists sweeps, trials, devices and ensembles to reload; `metrics` has the last points of running trials of
    `sweep` and of `trial`; `log` the size of the log of `trial`; `health` the members of `ensemble`; `reset` means that
    too many events were missed: reload everything. 503 if the limit of streams is reached: poll every few seconds
    instead.
    """
    recheck_s = request.app.state.feed.limits.recheck_s
    recheck_at = asyncio.get_running_loop().time() + recheck_s
    while not subscription.closed:
        try:
            async with asyncio.timeout_at(recheck_at) as recheck:
                await subscription.wait()
        except TimeoutError:
            pass
        # The timer may fire up to one clock resolution early: check its state, not only the clock.
        if recheck.expired() or asyncio.get_running_loop().time() >= recheck_at:
            if not await _is_authorized(request):
                return
            recheck_at = asyncio.get_running_loop().time() + recheck_s
        for message in subscription.take():
            yield message


async def _is_authorized(request: Request) -> bool:
    """Revoking a token, or ending a session, ends its streams."""
    try:
        await authorize(request, Role.VIEWER)
    except (UnauthorizedError, ForbiddenError):
        return False
    except PodiumError:  # the database is temporarily unavailable
        return True
    return True
