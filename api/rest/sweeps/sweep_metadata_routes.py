"""What users write about sweeps over REST: name, description, tags, project, star, archive; and projects; api."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from podium.api.http.authentication import submitter, viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.api.rest.schemas.sweep_schemas import SweepView
from podium.api.rest.sweeps.sweep_response import view_of
from podium.api.use_cases.sweep_metadata_commands import describe_sweep
from podium.db.access.tokens import Holder
from podium.db.stores import sweep_metadata
from podium.db.stores.sweep_metadata import DetailChanges

router = APIRouter(prefix="/api/v1", tags=["sweeps"])
MAX_PROJECTS = 1000


class Details(BaseModel):
    """What to change; fields that are left out stay unchanged."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str | None = None
    description: str | None = Field(None, description="Markdown; an empty string removes it")
    project: str | None = Field(None, description="an empty string removes the sweep from its project")
    tags: list[str] | None = Field(None, description="replaces all tags")
    add_tags: list[str] = Field(default_factory=list)
    remove_tags: list[str] = Field(default_factory=list)
    starred: bool | None = Field(None, description="for the user of the token only")
    archived: bool | None = Field(None, description="an archived sweep is not listed; nothing is deleted")


class ProjectView(View):
    """A project: the sweeps that name it."""

    name: str
    sweeps: int
    archived: int  # of these


@router.patch("/sweeps/{sweep_id}/details")
def describe(
    sweep_id: RowId, body: Details, service: ServiceContext = context, holder: Holder = submitter
) -> SweepView:
    """Rename a sweep, or change its description, tags, project, star or archive. None of them affects the search.

    409 for the archive of a sweep that has not ended. An archived sweep that is resumed or extended is listed again.
    """
    changes = DetailChanges(
        name=body.name,
        description=body.description,
        project=body.project,
        tags=body.tags,
        added_tags=body.add_tags,
        removed_tags=body.remove_tags,
        archived=body.archived,
        starred=body.starred,
    )
    describe_sweep(service, sweep_id, changes, holder.name)
    return view_of(service, sweep_id, holder.name)


@router.get("/projects", dependencies=[viewer])
def list_projects(service: ServiceContext = context) -> list[ProjectView]:
    """The projects by name, the first 1,000."""
    with service.database.read() as connection:
        return [ProjectView.model_validate(row) for row in sweep_metadata.projects(connection, MAX_PROJECTS)]
