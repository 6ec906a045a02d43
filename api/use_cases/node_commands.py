"""Drains a node, returns it to service, and removes it; api."""

from __future__ import annotations

import time

from podium.api.http.service_context import ServiceContext
from podium.db.stores import device_command_writer, nodes
from podium.sweep.values.errors import ConflictError
from podium.sweep.values.node_state_from_report import NodeState


def drain_node(service: ServiceContext, name: str, reason: str) -> None:
    """Place no more trials on the devices that a node has now. Raises `NotFoundError`."""
    at = time.time()
    with service.database.write() as connection:
        for device_id in nodes.get(connection, name).device_ids:
            device_command_writer.drain(connection, device_id, reason, at)
    service.wake("scheduler")


def return_node(service: ServiceContext, name: str) -> None:
    """Place trials on the devices of a node again; it does not leave, if it was to. Raises `NotFoundError`."""
    at = time.time()
    with service.database.write() as connection:
        nodes.keep(connection, name)
        for device_id in nodes.get(connection, name).device_ids:
            device_command_writer.return_device(connection, device_id, at)
    service.wake("scheduler")


def remove_node(service: ServiceContext, name: str, *, now: bool) -> bool:
    """Ask a node to leave after its running trials, or `now`; these trials are then repeated elsewhere.

    A silent node is forgotten instead. Returns whether it was. Raises `NotFoundError`, and `ConflictError` for a node
    that is refused.
    """
    at = time.time()
    with service.database.write() as connection:
        node = nodes.get(connection, name)
        if node.refused:
            raise ConflictError(f"the service does not use {name}: {node.refused}; take it out of the Ray cluster")
        silent = node.state(at) is NodeState.SILENT
        if silent:
            nodes.forget(connection, name, at)
        else:
            for device_id in node.device_ids:
                device_command_writer.drain(connection, device_id, nodes.LEAVES, at)
            nodes.ask_to_leave(connection, name, at, now=now)
    service.wake("scheduler")
    return silent
