"""Decides whether the data disk allows new trials. Pure; scheduler process."""

from __future__ import annotations

from dataclasses import replace

from podium.sweep.lifecycle.scheduler_inbox_messages import Message, SlotEvents, SlotOpened
from podium.sweep.scheduling.changes_and_actions import Instant
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import TrialState

FULL_S = 10.0  # without new trials after a trial found the data disk full
JUST_FULL = "a trial found the data disk full; new trials start again shortly"


class DiskGate:
    """Closed while the data disk is short of space, and for some time after a trial found it full."""

    def __init__(self) -> None:
        self._reason = ""
        self._full_until_s = 0.0

    @property
    def reason(self) -> str:
        """Why no trial may start, or ""."""
        return self._reason

    def update(self, now: Instant) -> None:
        """Apply the measured shortage."""
        just_full = JUST_FULL if now.monotonic_s < self._full_until_s else ""
        self._reason = now.disk_shortage or just_full

    def apply(self, trial: LiveTrial, event: Ended, now: Instant) -> Ended:
        """Close the gate if an attempt found the data disk full; returns the end of that attempt as it counts.

        Any other full file system concerns only that trial. An attempt interrupted by a full data disk does not count
        as a failure of its trial, unless this happens too often.
        """
        if event.cause is not Cause.DISK_FULL:
            return event
        interrupted = event.state is TrialState.CANCELLED
        if interrupted:
            self._full_until_s = now.monotonic_s + FULL_S
        if interrupted or now.disk_shortage:
            self._reason = now.disk_shortage or JUST_FULL
        if not interrupted or not trial.was_interrupted_often:
            return event
        return replace(event, state=TrialState.FAILED)


def reports_full_disk(message: Message) -> bool:
    """Whether an attempt in the message found a full file system, so that the data disk must be measured."""
    if not isinstance(message, SlotEvents | SlotOpened):
        return False
    return any(isinstance(event, Ended) and event.cause is Cause.DISK_FULL for _, event in message.events)
