"""Liveness and readiness of the service, for probes. Public; the details of readiness are for viewers; api."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from podium.api.http.authentication import public, viewer_or_stranger
from podium.api.http.route_dependencies import context
from podium.api.http.service_context import ServiceContext
from podium.db.access.tokens import Holder
from podium.db.schema.database import Database
from podium.sweep.runtime import component_status_reader
from podium.sweep.runtime.disk_space_check import disk_space
from podium.sweep.values.errors import DatabaseError

WITHIN_S = 2.0  # for the database to answer
router = APIRouter(tags=["health"])


@router.get("/healthz", dependencies=[public])
async def healthz() -> dict[str, str]:
    """The api process is alive. Does not use the thread pool, which may be exhausted."""
    return {"status": "ok"}


@router.get("/readyz", dependencies=[public])
def readyz(service: ServiceContext = context, holder: Holder | None = viewer_or_stranger) -> JSONResponse:
    """Whether all components are ready and the database answers; 503 until then.

    With a token of the role viewer: process id and state of each component (`parts`), free disk space (`storage`), and
    whether the database can be read (`database`). Without: the names of what is not ready (`not_ready`).
    """
    components = component_status_reader.read_components(service.settings.data)
    problem = _database_problem(service.database)
    ready = component_status_reader.all_ready(components) and not problem
    status = 200 if ready else 503
    if holder is None:
        done = ("ready", component_status_reader.STANDS_BY)
        waiting = [component["name"] for component in components if component["state"] not in done]
        waiting += ["database"] if problem else []
        return JSONResponse({"ready": ready, "not_ready": waiting}, status)
    space = disk_space(service.settings.data.root)
    storage = {"free_bytes": space.free_bytes, "enough": space.is_sufficient}
    database = {"available": not problem, "problem": problem}
    return JSONResponse({"ready": ready, "parts": components, "storage": storage, "database": database}, status)


def _database_problem(database: Database) -> str:
    """Why the database cannot be read; "" if it can."""
    try:
        with database.read(within_s=WITHIN_S) as connection:
            connection.exec_driver_sql("SELECT 1")
    except DatabaseError as error:
        return str(error)
    return ""
