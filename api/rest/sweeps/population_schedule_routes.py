"""Populations over REST: the intervals of all trials, and the schedule of one; api."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import Page
from podium.api.rest.schemas.population_schemas import IntervalView, ScheduleView
from podium.api.use_cases.population_schedule_replay import replay_of
from podium.db.queries import population_schedules
from podium.db.stores import sweeps, trial_reader

router = APIRouter(prefix="/api/v1", tags=["sweeps"])
MAX_LIMIT = 5_000


@router.get("/sweeps/{sweep_id}/intervals", dependencies=[viewer])
def list_intervals(
    sweep_id: RowId,
    after: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 1_000,
    service: ServiceContext = context,
) -> Page[IntervalView]:
    """The intervals of the trials of a population, by trial and number; none for other sweeps."""
    with service.database.read() as connection:
        sweeps.get(connection, sweep_id)
        rows = population_schedules.page(connection, sweep_id, after=after, limit=limit)
    following = rows[-1].key if len(rows) == limit else None
    return Page(items=[IntervalView.of(row) for row in rows], next=following)


@router.get("/trials/{trial_id}/schedule", dependencies=[viewer])
def show_schedule(trial_id: RowId, service: ServiceContext = context) -> ScheduleView:
    """The configurations that led to the state of a trial of a population, and a sweep that repeats them.

    404 if the trial was not trained in intervals.
    """
    with service.database.read() as connection:
        trial = trial_reader.get(connection, trial_id)
        rows = population_schedules.schedule(connection, trial_id)
        sweep = sweeps.get(connection, trial.sweep_id)
    return ScheduleView(intervals=[IntervalView.of(row) for row in rows], replay=replay_of(sweep, trial.number, rows))
