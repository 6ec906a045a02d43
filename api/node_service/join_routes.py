"""How a node joins the cluster, and its reports; nodes process."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Body

from podium.api.http.authentication import node
from podium.api.http.route_dependencies import context
from podium.api.http.service_context import ServiceContext
from podium.db.stores import nodes
from podium.sweep.protocol.node_reports import NodeReport
from podium.sweep.runtime.package_versions import version_problem, versions
from podium.sweep.values.errors import BadRequestError, ConflictError

router = APIRouter(prefix="/internal/v1", dependencies=[node])


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What a node needs to join."""

    ray_address: str
    ray_token: str
    versions: dict[str, str]


@router.post("/join")
def join(
    found: Annotated[dict[str, str], Body(embed=True, alias="versions")], service: ServiceContext = context
) -> dict[str, Any]:
    """The address and the token of Ray. 409 for a node with other versions, which could not run trials."""
    settings = service.settings
    own = versions()
    problem = version_problem(own, found)
    if problem is not None:
        raise ConflictError(problem)
    token = settings.data.ray_token.read_text().strip()
    return asdict(ClusterView(settings.ray_address, token, own))


@router.post("/reports")
def record_report(
    report: Annotated[dict[str, Any], Body()],
    starts: Annotated[bool, Body(description="the first report of an agent")] = False,
    service: ServiceContext = context,
) -> dict[str, Any]:
    """Record the state of a node. Returns the time of the head, and whether the node shall leave."""
    received_at = time.time()
    try:
        found = NodeReport.from_dict(report)
    except ValueError as error:
        raise BadRequestError(f"not a report of a node: {error}") from None
    with service.database.write() as connection:
        leave = nodes.record_report(connection, found, received_at, starts=starts)
    return {"leave": leave, "received_at": received_at, "sent_at": time.time()}
