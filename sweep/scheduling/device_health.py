"""What becomes of devices beside running trials: set aside, given to ensembles, idle, and why; pure, scheduler."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from podium.sweep.lifecycle.state_changes import Change, DeviceSetAside, Wishes
from podium.sweep.runtime.clock import Clock
from podium.sweep.scheduling.device_ledger import Ledger, Slot
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.scheduling.wait_reasons import why_slot_idles
from podium.sweep.values.trial import COUNTED, Cause, Ended, TrialState

log = logging.getLogger("podium.scheduler")


class DeviceCare:
    """Of the devices in `ledger`. What it decides goes to `changes`, for the scheduler to write."""

    def __init__(self, ledger: Ledger, clock: Clock, changes: list[Change]) -> None:
        self._ledger = ledger
        self._clock = clock
        self._changes = changes
        self._idle: set[str] = set()  # devices that had nothing to do when we last looked

    def judge(self, slot: Slot, trial: LiveTrial, event: Ended) -> None:
        """A device that fails one trial after another, for no fault of theirs, is set aside."""
        device_id = slot.device.device_id
        if not _is_fault_of_device(event):
            if event.state in COUNTED or event.state is TrialState.FAILED:
                self._ledger.praise(device_id)
            return
        reason = self._ledger.blame(device_id, trial.trial_id, f"{event.cause}: {event.message}")
        if reason is not None:
            log.error("device %s is set aside: %s", device_id, reason)
            at = self._clock.wall_s()
            self._changes.append(DeviceSetAside(device_id, reason, at))
            if not slot.lost:
                self._changes.append(slot.shown(at))

    def close(self, wishes: Wishes) -> None:
        """Set devices aside, or for ensembles, and take back those that are free for trials again."""
        at = self._clock.wall_s()
        closed = self._ledger.close(wishes.dedicated, wishes.aside)
        self._changes += [slot.shown(at) for slot in closed if not slot.lost]

    def explain(self, sweeps: Sequence[LiveSweep], no_room: str) -> None:
        """Devices that idle say why. One between two trials does not idle."""
        without = {slot.device.device_id for slot in self._ledger.open_to_trials() if slot.trial is None}
        for slot in self._ledger.open_to_trials():
            idles = slot.device.device_id in without & self._idle
            self._say(slot, why_slot_idles(slot, sweeps, no_room) if idles else "")
        self._idle = without

    def begin(self, slot: Slot) -> None:
        """It gets a trial: what it idled for is over, also if the trial is a short one."""
        self._idle.discard(slot.device.device_id)
        self._say(slot, "")

    def could_not_write(self, reason: str, since: float) -> None:
        """The database took nothing for a while, so that nothing was started either."""
        for slot in self._ledger.free():
            slot.idle = reason
            self._changes.append(slot.shown(since))

    def _say(self, slot: Slot, reason: str) -> None:
        if reason != slot.idle:
            slot.idle = reason
            self._changes.append(slot.shown(self._clock.wall_s()))


def _is_fault_of_device(event: Ended) -> bool:
    """Whether an attempt failed because of where it ran.

    Code that is slow to import is so anywhere, a disk is full for all. What the attempt tells with a traceback is of
    its own doing, unless it found itself on another device than its slot's.
    """
    if event.state is not TrialState.FAILED:
        return False
    if event.cause in (Cause.NODE_LOST, Cause.PINNING):
        return True
    return event.cause is Cause.INFRASTRUCTURE and not event.traceback
