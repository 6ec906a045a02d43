"""Parameter importance over REST: computed in the background, and updated as trials finish; api."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request

from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View, time_of
from podium.api.rest.sweeps.importance_process import ImportanceQueue
from podium.db.queries import importance_data
from podium.db.stores import parameter_importances, sweeps
from podium.db.stores.parameter_importances import StoredImportances
from podium.sweep.values.states import TERMINAL_SWEEP_STATES

router = APIRouter(prefix="/api/v1/sweeps/{sweep_id}", tags=["charts"])
MIN_TRIALS = 10
State = Literal["ready", "computing", "too_few", "failed"]


class ImportanceView(View):
    """The importance of each parameter for the ranking of the trials, largest first; the sum is 1."""

    metric: str
    state: State
    reason: str  # why there is no result, or no newer one
    finished: int  # number of finished trials now
    as_of: int | None  # number of finished trials when it was computed
    trials: int | None  # number of trials used: an even sample of them if there are many
    computed_at: datetime | None
    importances: dict[str, float] | None
    left_out: dict[str, str]  # parameters without a result, and why


async def _queue(request: Request) -> ImportanceQueue:
    found: ImportanceQueue = request.app.state.importances
    return found


@router.get("/importance", dependencies=[viewer])
def show_importance(
    sweep_id: RowId,
    metric: Annotated[
        str | None,
        Query(max_length=250, description="an objective, running_s, peak_memory_mb, or min(METRIC)"),
    ] = None,
    service: ServiceContext = context,
    queue: ImportanceQueue = Depends(_queue),  # noqa: B008
) -> ImportanceView:
    """The last result. If many trials have finished since, a new one is computed and `state` is `computing`.

    Method: fANOVA on ranks, over at most 400 trials.
    """
    with service.database.read() as connection:
        sweep = sweeps.get(connection, sweep_id)
        metric = metric or sweep.metric
        finished = importance_data.count_finished(connection, sweep, metric)
        known = parameter_importances.find(connection, sweep_id, metric)
    state, reason = _state(known, finished, ended=sweep.state in TERMINAL_SWEEP_STATES)
    if state == "computing":
        failure = queue.failure(sweep_id, metric, finished)
        if failure is None:
            queue.add(sweep_id, metric)
        else:
            state, reason = "failed", failure
    return ImportanceView(
        metric=metric,
        state=state,
        reason=reason,
        finished=finished,
        as_of=known and known.as_of,
        trials=known and known.trials,
        computed_at=time_of(known.at) if known else None,
        importances=known and known.importances,
        left_out=known.left_out if known else {},
    )


def _state(known: StoredImportances | None, finished: int, *, ended: bool) -> tuple[State, str]:
    if finished < MIN_TRIALS and known is None:
        trials = "1 finished trial" if finished == 1 else f"{finished} finished trials"
        return "too_few", f"{trials}; at least {MIN_TRIALS} are needed"
    new = finished - (known.as_of if known else 0)
    if known and (new == 0 or not (ended or abs(new) >= max(5, known.as_of // 10))):
        return "ready", ""
    return "computing", ""
