"""Liveness and readiness of the service. Public: the responses contain no secrets; api."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from podium.api.http.authentication import public
from podium.api.http.route_dependencies import context
from podium.api.http.service_context import ServiceContext
from podium.sweep.runtime import component_status_reader
from podium.sweep.runtime.disk_space import disk_space

router = APIRouter(tags=["health"])


@router.get("/healthz", dependencies=[public])
async def healthz() -> dict[str, str]:
    """The api process is alive. Does not use the thread pool, which may be exhausted."""
    return {"status": "ok"}


@router.get("/readyz", dependencies=[public])
def readyz(service: ServiceContext = context) -> JSONResponse:
    """Process id and state of each component, and free disk space. 503 until all components are ready."""
    components = component_status_reader.read_components(service.settings.data)
    ready = component_status_reader.all_ready(components)
    space = disk_space(service.settings.data.root)
    storage = {"free_bytes": space.free_bytes, "enough": space.is_sufficient}
    return JSONResponse({"ready": ready, "parts": components, "storage": storage}, 200 if ready else 503)
