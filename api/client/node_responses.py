"""The REST responses about nodes; the user's process and the CLI.

Each class has the fields of one model of the REST API (the OpenAPI document at `/openapi.json`); a test compares them.
They are plain dictionaries at run time. Times are ISO 8601 strings in UTC.
"""

from __future__ import annotations

from typing import TypedDict


class NodeInfo(TypedDict):
    """Another machine that has joined the service, by the last report of its agent."""

    name: str
    address: str
    state: str
    joined_at: str
    reported_at: str
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


class RemovedNodeInfo(TypedDict):
    """A node that was asked to leave, or that was silent and is forgotten."""

    name: str
    forgotten: bool
