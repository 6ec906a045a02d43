"""The REST responses about devices; the user's process and the CLI.

Each class has the fields of one model of the REST API (the OpenAPI document at `/openapi.json`); a test compares them.
They are plain dictionaries at run time. Times are ISO 8601 strings in UTC.
"""

from __future__ import annotations

from typing import TypedDict


class RunningTrialInfo(TypedDict):
    """The trial that runs on a device."""

    trial_id: int
    number: int
    attempt: int
    sweep_id: int
    sweep_name: str
    started_at: str


class PlacedMemberInfo(TypedDict):
    """An ensemble member on a device."""

    id: int
    position: int
    trial_id: int
    trial_number: int
    ensemble_id: int
    ensemble_name: str


class DeviceInfo(TypedDict):
    """A device."""

    id: str
    kind: str
    position: int
    node: str
    visible: str
    uuid: str | None
    slot_pid: int | None
    state: str
    reason: str
    trial_id: int | None
    member_ids: list[int]
    running: RunningTrialInfo | None
    members: list[PlacedMemberInfo]
    changed_at: str
