"""The trial table over REST: one window of the filtered, sorted trials of a sweep, as columns; api."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from podium.api.http.authentication import viewer
from podium.api.http.request_limits import MAX_ID
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.api.rest.schemas.plain_value_response import json_response
from podium.api.rest.schemas.query_parameters import Filter, MetricFigures, Sort, TrialsAfter
from podium.db.queries import trial_table
from podium.db.queries.trial_filter import WITHIN_S
from podium.db.queries.trial_table import Window
from podium.sweep.values.states import TrialState

router = APIRouter(prefix="/api/v1", tags=["sweeps"])


class TrialTableView(View):
    """Trials as columns: each list has one entry per trial, in order.

    The columns requested, cause, error, reported, reported_step, peak_memory_mb, peak_gpu_memory_mb, fallback_reason,
    fallback_error and proposed_for are left out where all their entries are null.
    """

    total: int  # number of trials of the sweep
    matching: int  # number of trials that match the filter
    next: int | str | None = Field(description="pass as `after` for the next page, with the same `sort`")
    found: int | None = Field(description="number of matching trials before the trial `find`; null: not found")
    columns: dict[str, list[Any]] = Field(
        description="id, number, state, requested, value, reported and reported_step (of trials without a value), "
        "violated, duration_s, running_s and queued_s (with and without a device), device, cause, error (the first "
        "line of the message), attempt, peak_memory_mb and peak_gpu_memory_mb (of the "
        "current attempt), sampler, fallback_reason, fallback_error, proposed_for, tags, "
        "started_at and ended_at (seconds since 1970), values.NAME, params.NAME, constraints.NAME, attrs.NAME, "
        "the figures of `metrics`, and non_finite(NAME) of those metrics with values that are NaN or infinite"
    )


class TrialCountsView(View):
    """The number of matching trials in each state, without states of none."""

    counts: dict[TrialState, int]


@router.get("/sweeps/{sweep_id}/trial-counts", dependencies=[viewer])
def show_trial_counts(sweep_id: RowId, filter: Filter = None, service: ServiceContext = context) -> TrialCountsView:
    """The matching trials of a sweep by state."""
    with service.database.read(within_s=WITHIN_S) as connection:
        return TrialCountsView(counts=trial_table.state_counts(connection, sweep_id, filter))


@router.get("/sweeps/{sweep_id}/table", dependencies=[viewer], response_model=TrialTableView)
def show_table(
    sweep_id: RowId,
    filter: Filter = None,
    sort: Sort = "number",
    after: TrialsAfter = None,
    offset: Annotated[int, Query(ge=0, le=MAX_ID, description="number of matching trials to skip")] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 200,
    find: Annotated[int | None, Query(ge=0, le=MAX_ID, description="number of a trial to locate")] = None,
    metrics: MetricFigures = None,
    service: ServiceContext = context,
) -> Response:
    """A window of a sweep's trials. Trials without a value in the `sort` column come last."""
    window = Window(filter=filter, sort=sort, after=after, offset=offset, limit=limit, find=find, metrics=metrics or ())
    with service.database.read(within_s=WITHIN_S) as connection:
        table = trial_table.window(connection, sweep_id, window)
    return json_response({field.name: getattr(table, field.name) for field in fields(table)})
