"""Trials that ran elsewhere, taken in over REST as a finished sweep; api."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from podium.api.http import reject_duplicate_keys
from podium.api.http.authentication import admin
from podium.api.http.body_schema import body_of
from podium.api.http.problem_schema import again
from podium.api.http.route_context import ServiceContext, body_within, context, has_room
from podium.api.rest.models.response_models import SweepView
from podium.api.rest.sweeps.sweep_routes import view_of
from podium.db.stores import imports
from podium.sweep.lifecycle.imported_trials import SweepImport, parse_import

router = APIRouter(prefix="/api/v1", tags=["sweeps"])
MAX_BYTES = 64 << 20


@router.post(
    "/sweeps/import",
    status_code=201,
    dependencies=[admin, has_room],
    responses=again(SweepView),
    openapi_extra=body_of(SweepImport, required=True),
)
async def import_sweep(
    request: Request,
    response: Response,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
    service: ServiceContext = context,
) -> SweepView:
    """Keep a study, made with Optuna say, as a finished sweep: listed, exported, and what others start from.

    It is a record: nothing of it runs here. The same key gives the same sweep.
    """
    body = await body_within(request, MAX_BYTES, "import fewer trials, or shorter curves")
    sweep_id, new = await asyncio.to_thread(_accept, service, body, idempotency_key)
    if not new:
        response.status_code = 200
    response.headers["Location"] = f"/api/v1/sweeps/{sweep_id}"
    return await asyncio.to_thread(view_of, service, sweep_id)


def _accept(service: ServiceContext, body: bytes, idempotency_key: str | None) -> tuple[int, bool]:
    at = time.time()
    reject_duplicate_keys.check(body)
    prepared = imports.prepare(parse_import(body), at)
    with service.database.write() as connection:
        return imports.accept(connection, prepared, at, idempotency_key)
