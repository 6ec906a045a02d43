"""Why a sweep waits, apart from the reason of its state; api process and scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class WaitReason(StrEnum):
    """Why no trial of a sweep runs although some may start."""

    SCHEDULER = "scheduler"  # the scheduler has not read the sweep yet
    DISK_FULL = "disk_full"
    NO_DEVICE = "no_device"  # no device is up
    NO_MATCHING_DEVICE = "no_matching_device"  # none of the kind that the sweep requires
    DEVICES_CLOSED = "devices_closed"  # all that match are dedicated or drained
    DEVICES_BUSY = "devices_busy"
    PROPOSAL = "proposal"  # the search has not proposed its first trial
    PREDECESSOR = "predecessor"  # a sweep of its `after` has not ended
    PREDECESSOR_FAILED = "predecessor_failed"  # one failed or was cancelled: a client releases or cancels this sweep
    FIX_FROM = "fix_from"  # `fix_from` has no usable values: likewise


@dataclass(frozen=True, slots=True)
class Wait:
    """The reason, and a message for people that names the devices or sweeps in question."""

    reason: WaitReason
    message: str


WAITS_FOR_SCHEDULER = Wait(WaitReason.SCHEDULER, "waiting for the scheduler")


def stored_wait(reason: str | None, message: str) -> Wait | None:
    """The wait of two columns of the database. Raises `ValueError` for an unknown reason."""
    return None if reason is None else Wait(WaitReason(reason), message)
