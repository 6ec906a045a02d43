"""Is the service alive, is it ready, and where is what; public, since it tells no secret; api."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from podium.api.http.route_context import ServiceContext, context
from podium.sweep.runtime import service_state
from podium.sweep.runtime.disk_space import room

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """This process answers. It waits for no thread, of which others may have taken all."""
    return {"status": "ok"}


@router.get("/readyz")
def readyz(service: ServiceContext = context) -> JSONResponse:
    """Every part of the service with its process id and state; 503 until all are ready. Is there room, too?"""
    parts = service_state.parts(service.settings.data)
    ready = service_state.all_ready(parts)
    found = room(service.settings.data.root)
    storage = {"free_bytes": found.free_bytes, "enough": found.enough}
    return JSONResponse({"ready": ready, "parts": parts, "storage": storage}, 200 if ready else 503)
