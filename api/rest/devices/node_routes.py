"""Nodes over REST: list, drain, return, remove; api."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from podium.api.http.authentication import admin, viewer
from podium.api.http.route_dependencies import context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.api.use_cases import node_commands
from podium.db.stores import nodes
from podium.db.stores.nodes import NodeRow
from podium.sweep.values.node_state_from_report import NodeState

router = APIRouter(prefix="/api/v1/nodes", tags=["devices"])
NodeName = Annotated[str, Path(max_length=100, description="for example `b`, the node of the device `b:gpu-0`")]


class DrainNode(BaseModel):
    """Why the devices of a node are drained."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field("drained on request", min_length=1, max_length=500)


class NodeView(View):
    """Another machine that has joined the service, by the last report of its agent."""

    name: str
    address: str
    state: NodeState
    joined_at: datetime
    reported_at: datetime
    podium_version: str
    python_version: str
    ray_version: str
    cores: int
    gpus: int
    memory_bytes: int
    disk_free_bytes: int
    cache_bytes: int  # of code, data and checkpoints that it keeps
    clock_offset_s: float  # its clock minus that of the service
    uploads_waiting: int  # attempts that run there, or whose end is not recorded
    devices: list[str]
    busy: int  # devices that run a trial
    refused: str  # why the service does not use a node of an existing Ray cluster; "" for a node that it uses

    @classmethod
    def of(cls, row: NodeRow, now: float) -> NodeView:
        """The node at `now`, seconds since the epoch."""
        return cls.model_validate(
            {
                **row.report.to_dict(),
                "state": row.state(now),
                "joined_at": row.joined_at,
                "reported_at": row.reported_at,
                "devices": list(row.device_ids),
                "busy": row.busy,
                "refused": row.refused,
            }
        )


class RemovedNodeView(View):
    """A node that was asked to leave, or that was silent and is forgotten."""

    name: str
    forgotten: bool


@router.get("", dependencies=[viewer])
def list_nodes(service: ServiceContext = context) -> list[NodeView]:
    """Every other machine that has joined the service, by name. The machine of the service is not listed."""
    with service.database.read() as connection:
        return [NodeView.of(row, time.time()) for row in nodes.all_of(connection)]


@router.post("/{name}/drain", dependencies=[admin])
def drain_node(name: NodeName, body: DrainNode | None = None, service: ServiceContext = context) -> NodeView:
    """Place no more trials on the devices that a node has now, until they are returned; running trials finish."""
    node_commands.drain_node(service, name, (body or DrainNode()).reason)
    return _view(service, name)


@router.post("/{name}/return", dependencies=[admin])
def return_node(name: NodeName, service: ServiceContext = context) -> NodeView:
    """Place trials again on all devices of a node. A node that was asked to leave stays, if it has not left yet."""
    node_commands.return_node(service, name)
    return _view(service, name)


@router.delete("/{name}", dependencies=[admin])
def remove_node(
    name: NodeName,
    now: Annotated[bool, Query(description="do not wait for running trials; they are repeated elsewhere")] = False,
    service: ServiceContext = context,
) -> RemovedNodeView:
    """Ask a node to leave after its running trials have ended. A silent node is forgotten at once.

    409 for a node that is refused.
    """
    return RemovedNodeView(name=name, forgotten=node_commands.remove_node(service, name, now=now))


def _view(service: ServiceContext, name: str) -> NodeView:
    with service.database.read() as connection:
        return NodeView.of(nodes.get(connection, name), time.time())
