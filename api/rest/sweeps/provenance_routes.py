"""Where a sweep comes from, over REST: the packages that were installed when it was submitted; api."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from podium.api.http.authentication import viewer
from podium.api.http.route_context import RowId, ServiceContext, context
from podium.db.stores import environments

router = APIRouter(prefix="/api/v1", tags=["sweeps"])


@router.get("/sweeps/{sweep_id}/packages", dependencies=[viewer], response_class=PlainTextResponse)
def show_packages(sweep_id: RowId, service: ServiceContext = context) -> PlainTextResponse:
    """The packages of the service's environment when the sweep was submitted, `name==version`, a line each."""
    with service.database.read() as connection:
        return PlainTextResponse(environments.packages_of(connection, sweep_id))
