"""`GET /api/v1/events`: one stream of server-sent events for each page, which says what to look at again; api."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from podium.api.http.authentication import admit, viewer
from podium.api.http.route_context import MAX_ID, ServiceContext
from podium.api.rest.ensembles import ensemble_routes
from podium.api.rest.stream.feed import Feed
from podium.api.rest.stream.pending_events import Subscription, Watch
from podium.db.access.tokens import Holder, Role
from podium.sweep.values.errors import ForbiddenError, NotFoundError, PodiumError, UnauthorizedError

RECHECK_S = 5.0  # whether who follows may still do so
router = APIRouter(prefix="/api/v1", tags=["events"])
Id = Annotated[int | None, Query(ge=1, le=MAX_ID)]


def feed_of(service: ServiceContext) -> Feed:
    """The feed of one app."""

    async def health(ensemble_id: int) -> dict[str, Any] | None:
        try:
            view = await asyncio.to_thread(ensemble_routes.show_ensemble, ensemble_id, service)
        except NotFoundError:
            return None
        return {"ensemble_id": ensemble_id, "members": view.model_dump(mode="json")["members"]}

    return Feed(service, health)


async def _subscribed(
    request: Request,
    sweep: Id = None,
    trial: Id = None,
    ensemble: Id = None,
    after: Annotated[int | None, Query(ge=0, le=MAX_ID, description="the id of the last message that was got")] = None,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
    holder: Holder = viewer,
) -> AsyncIterator[Subscription]:
    """A subscription for as long as the request lasts; a browser that comes back says by its header where it was."""
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
    """What happens, as server-sent events, about four times a second at most.

    `changes` names the sweeps, trials, devices and ensembles that are to be looked at again; `metrics` the last points
    of running trials of `sweep` and of `trial`; `log` how large the log of `trial` is; `health` how the members of
    `ensemble` do; `reset` says that too much was missed: look at everything. 503 when too many pages follow: then ask
    for what is wanted every few seconds.
    """
    recheck_at = asyncio.get_running_loop().time() + RECHECK_S
    while not subscription.closed:
        try:
            async with asyncio.timeout_at(recheck_at) as recheck:
                await subscription.wait()
        except TimeoutError:
            pass
        # A timer may fire up to one clock resolution early: its state decides, not a second reading of the clock.
        if recheck.expired() or asyncio.get_running_loop().time() >= recheck_at:
            if not await _may_follow(request):
                return
            recheck_at = asyncio.get_running_loop().time() + RECHECK_S
        for message in subscription.take():
            yield message


async def _may_follow(request: Request) -> bool:
    """A token that was revoked, or a session that has ended, ends its streams too."""
    try:
        await admit(request, Role.VIEWER)
    except (UnauthorizedError, ForbiddenError):
        return False
    except PodiumError:  # the database is away for a moment
        return True
    return True
