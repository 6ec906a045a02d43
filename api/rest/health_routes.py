"""Liveness and readiness of the service, for probes. Public; the details of readiness are for viewers; api."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from podium.api.http.authentication import public, viewer_or_stranger
from podium.api.http.route_dependencies import context
from podium.api.http.service_context import ServiceContext
from podium.db.access.tokens import Holder
from podium.sweep.runtime import component_status_reader
from podium.sweep.runtime.disk_space import disk_space

router = APIRouter(tags=["health"])


@router.get("/healthz", dependencies=[public])
async def healthz() -> dict[str, str]:
    """The api process is alive. Does not use the thread pool, which may be exhausted."""
    return {"status": "ok"}


@router.get("/readyz", dependencies=[public])
def readyz(service: ServiceContext = context, holder: Holder | None = viewer_or_stranger) -> JSONResponse:
    """Whether all components are ready; 503 until then.

    With a token of the role viewer: process id and state of each component (`parts`), and free disk space (`storage`).
    Without: the names of the components that are not ready (`not_ready`).
    """
    components = component_status_reader.read_components(service.settings.data)
    ready = component_status_reader.all_ready(components)
    status = 200 if ready else 503
    if holder is None:
        waiting = [component["name"] for component in components if component["state"] != "ready"]
        return JSONResponse({"ready": ready, "not_ready": waiting}, status)
    space = disk_space(service.settings.data.root)
    storage = {"free_bytes": space.free_bytes, "enough": space.is_sufficient}
    return JSONResponse({"ready": ready, "parts": components, "storage": storage}, status)
