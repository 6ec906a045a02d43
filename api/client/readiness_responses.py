"""The REST responses about the readiness of the service; the user's process and the CLI.

Each class has the fields of one model of the REST API (the OpenAPI document at `/openapi.json`). They are plain
dictionaries at run time.
"""

from __future__ import annotations

from typing import TypedDict


class ComponentInfo(TypedDict):
    """A component of the service."""

    name: str
    pid: int | None
    state: str
    restarts: int


class StorageInfo(TypedDict):
    """Free space of the data directory's disk."""

    free_bytes: int
    enough: bool


class LeaderInfo(TypedDict):
    """The service whose scheduler and ensemble host work."""

    host: str
    url: str
    epoch: int
    held_s: float
    renewed_s: float
    expired: bool
    answers: bool


class StandbyInfo(TypedDict):
    """A service that leads when the leader fails."""

    host: str
    url: str
    waits_s: float
    seen_s: float
    answers: bool


class Services(TypedDict):
    """The services of one database: which one leads, and which stand by."""

    leader: LeaderInfo | None
    standbys: list[StandbyInfo]


class DatabaseInfo(TypedDict):
    """Whether the database can be read, and why not."""

    available: bool
    problem: str


class Readiness(TypedDict):
    """Whether the service is ready; its components are in `parts`."""

    ready: bool
    parts: list[ComponentInfo]
    storage: StorageInfo
    database: DatabaseInfo
