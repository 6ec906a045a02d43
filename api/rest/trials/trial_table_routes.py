"""The trials of a sweep as a table over REST: filtered, sorted, a window at a time, as columns; api."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from podium.api.http.authentication import viewer
from podium.api.http.route_context import MAX_ID, RowId, ServiceContext, context
from podium.api.rest.models.response_models import View
from podium.db.queries import trial_table
from podium.db.queries.trial_cursor import MAX_CURSOR
from podium.db.queries.trial_filter import MAX_FILTER, WITHIN_S
from podium.db.queries.trial_table import Window

router = APIRouter(prefix="/api/v1", tags=["sweeps"])
Filter = Annotated[
    str | None,
    Query(max_length=MAX_FILTER, description="terms that must all hold, such as `state:failed lr<0.01 -tag:bad`"),
]
TrialsAfter = Annotated[str | None, Query(max_length=MAX_CURSOR, description="`next` of the page before")]
Sort = Annotated[str, Query(max_length=250, description="a column of the table, falling with - before it; or best")]


class TrialTableView(View):
    """Trials as columns: each list has one entry for each trial, in order."""

    total: int  # trials of the sweep
    matching: int  # of them through the filter
    next: int | str | None = Field(description="goes into `after=` for what follows, with the same `sort`")
    found: int | None = Field(description="how many matching trials come before the one of `find=`; null: not there")
    columns: dict[str, list[Any]] = Field(
        description="id, number, state, requested, value, reported and reported_step (of trials without a value), "
        "violated, duration_s, device, cause, attempt, sampler, tags, "
        "started_at and ended_at (seconds since 1970), values.NAME, params.NAME, constraints.NAME, attrs.NAME"
    )


@router.get("/sweeps/{sweep_id}/table", dependencies=[viewer])
def show_table(
    sweep_id: RowId,
    filter: Filter = None,
    sort: Sort = "number",
    after: TrialsAfter = None,
    offset: Annotated[int, Query(ge=0, le=MAX_ID, description="so many are left out at the beginning")] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 200,
    find: Annotated[int | None, Query(ge=0, le=MAX_ID, description="the number of a trial to look for")] = None,
    service: ServiceContext = context,
) -> TrialTableView:
    """A window of a sweep's trials; those that have nothing in the column of `sort` come last."""
    wanted = Window(filter, sort, after, offset, limit, find)
    with service.database.read(within_s=WITHIN_S) as connection:
        return TrialTableView.model_validate(trial_table.window(connection, sweep_id, wanted))
