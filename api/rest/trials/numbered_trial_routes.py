"""Trials by their numbers over REST, and the ids and numbers of trials; api."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import StringConstraints

from podium.api.http.authentication import viewer
from podium.api.http.request_limits import MAX_ID
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.api.rest.schemas.trial_schemas import TrialDetail
from podium.api.rest.trials.trial_response import detail_of
from podium.db.queries import trial_lookup

router = APIRouter(prefix="/api/v1", tags=["trials"])
MAX_NAMES = 200  # in one request
Number = Annotated[int, Path(ge=0, le=MAX_ID, description="of the trial in its sweep")]
Name = Annotated[str, StringConstraints(max_length=40, pattern=trial_lookup.PATTERN)]


class TrialNameView(View):
    """A trial by its id, and by what people read: its sweep, and its number in it."""

    id: int
    sweep_id: int
    number: int


@router.get("/sweeps/{sweep_id}/trials/{number}", dependencies=[viewer])
def show_numbered_trial(sweep_id: RowId, number: Number, service: ServiceContext = context) -> TrialDetail:
    """One trial by its number in a sweep, with its attempts and artifacts."""
    with service.database.read() as connection:
        trial_id = trial_lookup.id_of(connection, sweep_id, number)
    return detail_of(service, trial_id)


@router.get("/trial-names", dependencies=[viewer])
def list_trial_names(
    trial: Annotated[
        list[Name],
        Query(max_length=MAX_NAMES, description="ids, or names like `3.17`: trial 17 of sweep 3; repeatable"),
    ],
    service: ServiceContext = context,
) -> list[TrialNameView]:
    """Ids and numbers of trials, in the order of the request. Trials that do not exist are left out."""
    with service.database.read() as connection:
        return [TrialNameView.model_validate(each) for each in trial_lookup.find(connection, trial)]
