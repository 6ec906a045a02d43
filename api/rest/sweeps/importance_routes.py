"""Which parameters matter to a sweep's metric, over REST: judged in the background, and again as trials finish; api."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request

from podium.api.http.authentication import viewer
from podium.api.http.route_context import RowId, ServiceContext, context
from podium.api.rest.models.response_models import View, time_of
from podium.api.rest.sweeps.importance_process import Analyst
from podium.db.queries import importances
from podium.db.queries.importances import Judged
from podium.db.stores import sweeps
from podium.sweep.values.trial import SWEEP_OVER

router = APIRouter(prefix="/api/v1/sweeps/{sweep_id}", tags=["charts"])
LEAST_TRIALS = 10
State = Literal["ready", "computing", "too_few", "failed"]


class ImportanceView(View):
    """The share of each parameter in how the trials rank, largest first; they add up to 1."""

    metric: str
    state: State
    reason: str  # why there is nothing, or nothing newer
    finished: int  # trials that there are now
    as_of: int | None  # finished trials that there were when it was judged
    trials: int | None  # of these, how many were looked at: of very many an even sample
    judged_at: datetime | None
    importances: dict[str, float] | None
    left_out: dict[str, str]  # parameters that could not be judged, and why


async def _analyst(request: Request) -> Analyst:
    found: Analyst = request.app.state.analyst
    return found


@router.get("/importance", dependencies=[viewer])
def show_importance(
    sweep_id: RowId,
    metric: Annotated[str | None, Query(max_length=200, description="an objective, or duration_s")] = None,
    service: ServiceContext = context,
    analyst: Analyst = Depends(_analyst),  # noqa: B008
) -> ImportanceView:
    """What is known; where there are many new trials since, it is judged again, and `state` is `computing` meanwhile.

    By fANOVA on ranks, over at most 400 trials.
    """
    with service.database.read() as connection:
        sweep = sweeps.get(connection, sweep_id)
        metric = metric or sweep.metric
        finished = importances.finished(connection, sweep, metric)
        known = importances.find(connection, sweep_id, metric)
    state, reason = _state(known, finished, over=sweep.state in SWEEP_OVER)
    if state == "computing":
        failure = analyst.failure(sweep_id, metric, finished)
        if failure is None:
            analyst.begin(sweep_id, metric)
        else:
            state, reason = "failed", failure
    return ImportanceView(
        metric=metric,
        state=state,
        reason=reason,
        finished=finished,
        as_of=known and known.as_of,
        trials=known and known.trials,
        judged_at=time_of(known.at) if known else None,
        importances=known and known.importances,
        left_out=known.left_out if known else {},
    )


def _state(known: Judged | None, finished: int, *, over: bool) -> tuple[State, str]:
    if finished < LEAST_TRIALS and known is None:
        trials = "1 finished trial" if finished == 1 else f"{finished} finished trials"
        return "too_few", f"{trials}; it takes {LEAST_TRIALS} to say anything"
    new = finished - (known.as_of if known else 0)
    if known and (new == 0 or not (over or abs(new) >= max(5, known.as_of // 10))):
        return "ready", ""
    return "computing", ""
