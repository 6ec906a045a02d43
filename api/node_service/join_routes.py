"""How a node joins the cluster, and its reports; nodes process."""

from __future__ import annotations

import contextlib
import time
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address
from typing import Annotated, Any

from fastapi import APIRouter, Body
from pydantic import BaseModel, ConfigDict, Field

from podium.api.http.authentication import node
from podium.api.http.route_dependencies import context
from podium.api.http.service_context import ServiceContext
from podium.db.stores import nodes
from podium.db.stores.nodes import NodeRow
from podium.sweep.file_store.recorded_object_store_config import recorded
from podium.sweep.protocol.node_reports import NodeReport
from podium.sweep.runtime import cluster_certificates
from podium.sweep.runtime.package_versions import version_problem, versions
from podium.sweep.values.device import HEAD, NODE_NAME
from podium.sweep.values.errors import BadRequestError, ConflictError, NotFoundError
from podium.sweep.values.node_state_from_report import NodeState

router = APIRouter(prefix="/internal/v1", dependencies=[node])


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What a node needs to join."""

    ray_address: str
    ray_token: str
    versions: dict[str, str]
    ray_tls: dict[str, str] | None  # certificate, key and authority for Ray on this node; None without TLS
    artifact_url: str = ""  # of the object store for the files of attempts
    store_id: str = ""  # which that store has as well


class Joining(BaseModel):
    """A node that wants to join."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=f"^{NODE_NAME.pattern}$")
    address: IPv4Address
    versions: dict[str, str]
    again: bool = Field(False, description="after a lost connection: a request to leave still holds")


class Leaving(BaseModel):
    """A node that has stopped."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=f"^{NODE_NAME.pattern}$")


@router.post("/join")
def join(body: Joining, service: ServiceContext = context) -> dict[str, Any]:
    """The address and the token of Ray.

    409 for a node with other versions, which could not run trials, with the name of another node that is connected,
    and if the service uses an existing Ray cluster.
    """
    settings = service.settings
    if settings.existing_cluster is not None:
        address = settings.existing_cluster.address
        raise ConflictError(
            f"this service uses the existing Ray cluster at {address}; start Ray on this machine instead: "
            f"`ray start --address {address}`"
        )
    own = versions()
    problem = version_problem(own, body.versions)
    if problem is not None:
        raise ConflictError(problem)
    if body.name == HEAD:
        raise ConflictError(f"{HEAD} is the name of this machine; choose another name with --name")
    with service.database.write() as connection:
        known = {node.name: node for node in nodes.all_of(connection)}.get(body.name)
        if known is not None:
            _check_same_node(known, str(body.address))
            if not body.again:
                nodes.keep(connection, body.name)  # a request to leave was meant for the one that has left
    token = settings.data.ray_token.read_text().strip()
    tls = cluster_certificates.issue(settings.data, str(body.address)) if settings.ray_tls else None
    record = recorded(settings.data) if settings.artifact_url else None
    store_id = "" if record is None else record.store_id
    return asdict(ClusterView(settings.ray_address, token, own, tls, settings.artifact_url, store_id))


def _check_same_node(known: NodeRow, address: str) -> None:
    if known.state(time.time()) is not NodeState.SILENT and known.report.address != address:
        raise ConflictError(
            f"a node named {known.name} is connected from {known.report.address}; choose another name with --name"
        )


@router.post("/leave")
def leave(body: Leaving, service: ServiceContext = context) -> dict[str, Any]:
    """A node has stopped: forget it, with its devices."""
    with service.database.write() as connection, contextlib.suppress(NotFoundError):  # its agent has never reported
        nodes.forget(connection, body.name, time.time())
    return {}


@router.post("/reports")
def record_report(report: Annotated[dict[str, Any], Body()], service: ServiceContext = context) -> dict[str, Any]:
    """Record the state of a node. Returns the time of the head, and whether the node shall leave."""
    received_at = time.time()
    try:
        found = NodeReport.from_dict(report)
    except ValueError as error:
        raise BadRequestError(f"not a report of a node: {error}") from None
    with service.database.write(durable=False) as connection:  # the next report follows in seconds
        leave = nodes.record_report(connection, found, received_at)
    return {"leave": leave, "received_at": received_at, "sent_at": time.time()}
