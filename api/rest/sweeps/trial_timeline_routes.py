"""The timeline of a sweep by trial over REST: when each attempt was queued and when it ran; api."""

from __future__ import annotations

import time
from typing import Annotated

import orjson
from fastapi import APIRouter, Header, Query, Response

from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.api.rest.schemas.plain_value_response import compressed, json_response
from podium.api.rest.schemas.query_parameters import Filter
from podium.db.queries import sweep_attempt_timeline
from podium.db.queries.trial_filter import WITHIN_S, filter_condition
from podium.db.stores import sweeps

router = APIRouter(prefix="/api/v1/sweeps/{sweep_id}", tags=["charts"])
MAX_TRIALS = 20_000


class AttemptColumnsView(View):
    """Columns: each list has one entry per attempt, by trial and attempt. Times are seconds after `from_s`.

    A trial without attempts has one entry with attempt 0; a trial that waits to be repeated has one more entry.
    """

    id: list[int]  # of the trial
    number: list[int]  # of the trial
    attempt: list[int]
    state: list[str]  # of the attempt; waiting: it has not started
    cause: list[str | None]
    device: list[str | None]  # several are separated by a comma
    queued_s: list[float]  # from when it waited for a device
    start_s: list[float | None]  # null: it has not started
    end_s: list[float | None]  # null: it runs or waits


class TrialTimelineView(View):
    """The attempts of the matching trials over time."""

    matching: int  # trials
    shown: int  # trials: at most about `max`, the running ones and every n-th of the others
    from_s: float  # seconds since the epoch: when the first trial was created
    now_s: float
    columns: AttemptColumnsView


@router.get("/trial-timeline", dependencies=[viewer], response_model=TrialTimelineView)
def show_trial_timeline(
    sweep_id: RowId,
    filter: Filter = None,
    max: Annotated[int, Query(ge=100, le=MAX_TRIALS, description="trials")] = 10_000,
    accept_encoding: Annotated[str, Header(include_in_schema=False)] = "",
    service: ServiceContext = context,
) -> Response:
    """When each attempt of the matching trials was queued, started and ended."""
    with service.database.read(within_s=WITHIN_S) as connection:
        sweep = sweeps.without_counts(connection, sweep_id)
        found = sweep_attempt_timeline.timeline(connection, filter_condition(connection, filter, sweep), max)
    body = {
        "matching": found.matching,
        "shown": found.shown,
        "from_s": found.from_s,
        "now_s": time.time(),
        "columns": {name: orjson.Fragment(column) for name, column in found.columns.items()},
    }
    return compressed(json_response(body), accept_encoding)
