"""Provenance of a sweep over REST: the packages installed when it was submitted; api."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.db.stores import installed_packages

router = APIRouter(prefix="/api/v1", tags=["sweeps"])


@router.get("/sweeps/{sweep_id}/packages", dependencies=[viewer], response_class=PlainTextResponse)
def show_packages(sweep_id: RowId, service: ServiceContext = context) -> PlainTextResponse:
    """The service's packages when the sweep was submitted: one `name==version` per line."""
    with service.database.read() as connection:
        return PlainTextResponse(installed_packages.packages_of(connection, sweep_id))
