"""Imports a study that ran elsewhere over REST, as a finished sweep; api."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from podium.api.http import reject_duplicate_keys
from podium.api.http.authentication import admin
from podium.api.http.openapi_bodies import body_of
from podium.api.http.openapi_problem_responses import idempotent
from podium.api.http.request_body import limits_of, read_body, reads_own_body
from podium.api.http.route_dependencies import context, has_disk_space
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.sweep_schemas import SweepView
from podium.api.rest.sweeps.sweep_response import submitted_view
from podium.api.use_cases.sweep_submission import import_study
from podium.db.access.tokens import Holder
from podium.sweep.lifecycle.imported_sweep import ImportedSweep

router = APIRouter(prefix="/api/v1", tags=["sweeps"])


@router.post(
    "/sweeps/import",
    status_code=201,
    dependencies=[has_disk_space],
    responses=idempotent(SweepView),
    openapi_extra=body_of(ImportedSweep, required=True),
)
@reads_own_body
async def import_sweep(
    request: Request,
    response: Response,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
    service: ServiceContext = context,
    holder: Holder = admin,
) -> SweepView:
    """Store a study, such as one made with Optuna, as a finished sweep: for lists, exports and warm starts.

    Its trials do not run. A repeated idempotency key returns the same sweep.
    """
    body = await read_body(request, limits_of(request).import_bytes, "import fewer trials, or shorter curves")

    def work() -> SweepView:
        reject_duplicate_keys.check(body)
        submitted = import_study(service, body, holder.name, idempotency_key)
        return submitted_view(response, service, submitted, holder.name)

    return await asyncio.to_thread(work)
