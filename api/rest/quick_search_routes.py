"""Finds sweeps, trials, ensembles and projects by a few typed characters; api."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.db.queries import quick_search
from podium.db.queries.quick_search import Kind
from podium.db.queries.trial_filter import WITHIN_S

router = APIRouter(prefix="/api/v1", tags=["search"])


class FoundView(View):
    """Something that the words match."""

    kind: Kind
    id: int | None  # null for a project
    name: str
    detail: str  # its state, or where it belongs
    sweep_id: int | None  # of a trial
    number: int | None  # of a trial in its sweep


@router.get("/search", dependencies=[viewer])
def search(
    q: Annotated[str, Query(max_length=120, description="words of a name, an id, `7/3`: trial 3 of sweep 7")] = "",
    limit: Annotated[int, Query(ge=1, le=50)] = 20,
    service: ServiceContext = context,
) -> list[FoundView]:
    """Sweeps, trials, ensembles and projects, the most specific first; without `q`, the newest sweeps."""
    with service.database.read(within_s=WITHIN_S) as connection:
        return [FoundView.model_validate(each) for each in quick_search.find(connection, q, limit)]
