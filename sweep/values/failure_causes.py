"""The causes of failed attempts: all of them, those of the infrastructure, and those of memory; every process."""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """The cause of a failed attempt."""

    USER_ERROR = "user_error"
    BAD_REPORT = "bad_report"
    NON_FINITE = "non_finite"
    EXITED = "exited"
    SIGNAL = "signal"
    TIMEOUT = "timeout"
    STALLED = "stalled"
    START_TIMEOUT = "start_timeout"
    JOIN_TIMEOUT = "join_timeout"
    HOST_MEMORY = "host_memory"
    DEVICE_MEMORY = "device_memory"
    DISK_QUOTA = "disk_quota"
    DISK_FULL = "disk_full"
    PINNING = "pinning"
    NODE_LOST = "node_lost"
    CANCELLED = "cancelled"
    INFRASTRUCTURE = "infrastructure"


INFRASTRUCTURE_CAUSES = frozenset({Cause.INFRASTRUCTURE, Cause.START_TIMEOUT, Cause.PINNING, Cause.DISK_FULL})
MEMORY_CAUSES = frozenset({Cause.HOST_MEMORY, Cause.DEVICE_MEMORY})
