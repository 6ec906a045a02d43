"""Is the service alive, is it ready, and where is what; public, since it tells no secret; api."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from api.service import ServiceContext, context
from sweep.room import room

router = APIRouter(tags=["health"])


@router.get("/healthz")
def healthz() -> dict[str, str]:
    """This process answers."""
    return {"status": "ok"}


@router.get("/readyz")
def readyz(service: ServiceContext = context) -> JSONResponse:
    """Every part of the service with its process id and state; 503 until all are ready. Is there room, too?"""
    try:
        parts: list[dict[str, Any]] = json.loads(service.settings.data.service_file.read_text())["parts"]
    except (OSError, ValueError, KeyError):
        parts = []
    ready = bool(parts) and all(part["state"] == "ready" for part in parts)
    found = room(service.settings.data.root)
    storage = {"free_bytes": found.free_bytes, "enough": found.enough}
    return JSONResponse({"ready": ready, "parts": parts, "storage": storage}, 200 if ready else 503)
