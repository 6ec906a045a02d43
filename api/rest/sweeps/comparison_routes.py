"""Several sweeps side by side over REST: histories of the best value, and one table of trials; api."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from podium.api.http.authentication import viewer
from podium.api.http.request_limits import MAX_ID
from podium.api.http.route_dependencies import context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.db.queries import sweep_comparison
from podium.db.queries.sweep_comparison import History, JoinedTrial
from podium.db.queries.trial_filter import WITHIN_S
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.spec.trial_stop_conditions import ValueRule
from podium.sweep.values.attempt_assignment import Scalar

router = APIRouter(prefix="/api/v1/compare", tags=["sweeps"])
MAX_SWEEPS, MAX_TRIALS = 20, 100
Id = Annotated[int, Query(ge=1, le=MAX_ID)]
SweepIds = Annotated[list[Id], Query(alias="sweep", max_length=MAX_SWEEPS, description="repeatable: sweep=1&sweep=2")]
TrialIds = Annotated[list[Id], Query(alias="trial", max_length=MAX_TRIALS, description="ids; repeatable")]


class ImprovementView(View):
    """A trial that improved on all before."""

    trial_id: int
    number: int
    time_s: float  # its end, since the start of the sweep
    value: float


class HistoryView(View):
    """The best value of a sweep over its trials, by its first objective."""

    sweep_id: int
    name: str
    state: str
    metric: str
    goal: str
    value_rule: ValueRule  # which report is the value of a trial, if its program returns none
    improvements: list[ImprovementView]
    trials: int  # that have ended with a value and violate no constraint
    last_number: int  # the largest number of these; -1 without one
    last_s: float  # end of the last of them, since the start of the sweep

    @classmethod
    def of(cls, found: History) -> HistoryView:
        sweep = found.sweep
        metric, goal = sweep.objectives[0]
        return cls(
            sweep_id=sweep.id,
            name=sweep.name,
            state=sweep.state,
            metric=metric,
            goal=goal,
            value_rule=spec_from_json(sweep.spec_json).reported_rule,
            improvements=[ImprovementView.model_validate(each) for each in found.improvements],
            trials=found.trials,
            last_number=found.last_number,
            last_s=found.last_s,
        )


class JoinedTrialView(View):
    """A trial in a table of several sweeps. A name that it lacks in a mapping is missing, not zero."""

    id: int
    sweep_id: int
    sweep_name: str
    number: int
    state: str
    params: dict[str, Scalar]
    values: dict[str, float]  # of a finished trial, by objective
    metrics: dict[str, float]  # the last value of each
    duration_s: float | None  # from the first start to the end; null: it has not ended
    device: str | None
    cause: str | None

    @classmethod
    def of(cls, joined: JoinedTrial) -> JoinedTrialView:
        row = joined.row
        has_ended = row.started_at is not None and row.ended_at is not None
        return cls(
            id=row.id,
            sweep_id=row.sweep_id,
            sweep_name=joined.sweep_name,
            number=row.number,
            state=row.state,
            params=row.params,
            values=dict(joined.values),
            metrics=dict(joined.metrics),
            duration_s=(row.ended_at or 0.0) - (row.started_at or 0.0) if has_ended else None,
            device=row.device_id,
            cause=row.cause,
        )


@router.get("/histories", dependencies=[viewer])
def compare_histories(
    sweep_ids: SweepIds = [],  # noqa: B006
    by: Annotated[Literal["number", "time"], Query(description="the order of the trials")] = "number",
    service: ServiceContext = context,
) -> list[HistoryView]:
    """The best value so far of each sweep: only the trials that improved it. 404 for an unknown sweep."""
    with service.database.read(within_s=WITHIN_S) as connection:
        ids = list(dict.fromkeys(sweep_ids))
        return [HistoryView.of(sweep_comparison.history(connection, each, by_number=by == "number")) for each in ids]


@router.get("/trials", dependencies=[viewer])
def compare_trials(
    sweep_ids: SweepIds = [],  # noqa: B006
    trial_ids: TrialIds = [],  # noqa: B006
    best: Annotated[int, Query(ge=0, le=50, description="how many of the best trials of each sweep")] = 10,
    service: ServiceContext = context,
) -> list[JoinedTrialView]:
    """Chosen trials, then the best of each sweep, each once; unknown trials are left out. 404 for an unknown sweep."""
    with service.database.read(within_s=WITHIN_S) as connection:
        found = sweep_comparison.joined_trials(connection, list(dict.fromkeys(sweep_ids)), trial_ids, best)
        return [JoinedTrialView.of(each) for each in found]
