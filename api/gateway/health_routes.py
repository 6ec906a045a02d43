"""Liveness and readiness of a gateway, for probes. Public; which ensembles are ready is for viewers; gateway."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from podium.api.gateway.readiness import can_answer_all, expected
from podium.api.http.authentication import public, viewer_or_stranger
from podium.db.access.tokens import Holder
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.replica_link_manager import can_answer

router = APIRouter(tags=["health"])


@router.get("/healthz", dependencies=[public])
async def healthz() -> dict[str, str]:
    """The gateway process is alive."""
    return {"status": "ok"}


@router.get("/readyz", dependencies=[public])
async def readyz(request: Request, holder: Holder | None = viewer_or_stranger) -> JSONResponse:
    """Whether the gateway can answer for its ensembles, or has none; otherwise 503.

    With a token of the role viewer: each ensemble, and whether it has its quorum (`ensembles`).
    """
    aggregator: Aggregator = request.app.state.aggregator
    ready = can_answer_all(aggregator)
    answer: dict[str, Any] = {"ready": ready}
    if holder is not None:
        rows = [(each.active.name, can_answer(each.active)) for each in expected(aggregator)]
        answer["ensembles"] = [{"name": name, "ready": up} for name, up in rows]
    return JSONResponse(answer, 200 if ready else 503)
