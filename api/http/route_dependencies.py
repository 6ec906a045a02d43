"""Dependencies and parameter types that routes share; api and gateway."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query, Request

from podium.api.http.request_limits import MAX_ID
from podium.api.http.service_context import ServiceContext
from podium.sweep.runtime.disk_space_check import check_disk_space

RowId = Annotated[int, Path(ge=1, le=MAX_ID)]
After = Annotated[int | None, Query(ge=0, le=MAX_ID, description="`next` of the previous page")]


async def _context(request: Request) -> ServiceContext:
    found: ServiceContext = request.app.state.service
    return found


context = Depends(_context)


def _check_disk_space(service: ServiceContext = context) -> None:
    check_disk_space(service.settings.data.root)


has_disk_space = Depends(_check_disk_space)  # for routes that store something new: 507 if the disk is full
