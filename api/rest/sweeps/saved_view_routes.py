"""Saved views of the page of a sweep over REST: list, save, delete; api."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from podium.api.http.authentication import submitter, viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View, time_of
from podium.api.use_cases.sweep_metadata_commands import delete_view, save_view
from podium.db.access.tokens import Holder
from podium.db.stores import saved_views
from podium.db.stores.saved_views import SavedView
from podium.sweep.values.sweep_metadata_checks import MAX_PROJECT

router = APIRouter(prefix="/api/v1/views", tags=["sweeps"])
MAX_KEYS = 20  # of the query
Tab = Literal["table", "failures", "curves", "analysis", "devices", "ensemble", "configuration"]
Key = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$")]


class ViewToSave(BaseModel):
    """A view of the page of a sweep."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(pattern=r"^[^\s/][^/\x00-\x1f\x7f]{0,59}$", description="1 to 60 characters, without /")
    project: str = Field("", max_length=MAX_PROJECT, description="empty: for all sweeps")
    tab: Tab = "table"
    query: dict[Key, Annotated[str, Field(max_length=4000)]] = Field(
        default_factory=dict,
        max_length=MAX_KEYS,
        description="the state of the page in its URL, such as filter, sort and columns",
    )


class SavedViewView(View):
    """A saved view."""

    id: int
    name: str
    project: str  # "": for all sweeps
    tab: str
    query: dict[str, str]
    owner: str  # who saved it last
    changed_at: datetime | None

    @classmethod
    def of(cls, row: SavedView) -> SavedViewView:
        return cls(
            id=row.id,
            name=row.name,
            project=row.project,
            tab=row.tab,
            query=row.query,
            owner=row.owner,
            changed_at=time_of(row.changed_at),
        )


@router.get("", dependencies=[viewer])
def list_views(
    project: Annotated[str, Query(max_length=MAX_PROJECT)] = "", service: ServiceContext = context
) -> list[SavedViewView]:
    """The views of a project and those for all sweeps, by name."""
    with service.database.read() as connection:
        return [SavedViewView.of(row) for row in saved_views.of_project(connection, project)]


@router.put("")
def put_view(body: ViewToSave, service: ServiceContext = context, holder: Holder = submitter) -> SavedViewView:
    """Save a view; one of the same project and name is replaced."""
    saved = save_view(
        service, project=body.project, name=body.name.strip(), tab=body.tab, query=body.query, owner=holder.name
    )
    return SavedViewView.of(saved)


@router.delete("/{view_id}", dependencies=[submitter])
def remove_view(view_id: RowId, service: ServiceContext = context) -> SavedViewView:
    """Delete a view."""
    return SavedViewView.of(delete_view(service, view_id))
