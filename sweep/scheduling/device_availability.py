"""Decides which devices accept trials: drained after failures, reserved by ensembles, idle and why. Pure; scheduler
process.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from podium.sweep.lifecycle.database_changes import Change, DeviceDrained
from podium.sweep.lifecycle.pending_commands import PendingCommands
from podium.sweep.scheduling.device_ledger import DeviceLedger
from podium.sweep.scheduling.live_slot import Slot
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.scheduling.wait_and_idle_reasons import slot_idle_reason
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import TrialState

log = logging.getLogger("podium.scheduler")


class DeviceAvailability:
    """Which devices in `ledger` accept trials. Each method returns the changes to write."""

    def __init__(self, ledger: DeviceLedger) -> None:
        self._ledger = ledger
        self._idle: set[str] = set()  # devices that were idle at the last call of `explain`

    def record_outcome(self, slot: Slot, trial: LiveTrial, event: Ended, at: float) -> list[Change]:
        """Record the end of an attempt: a device on which consecutive trials fail through no fault of their own is
        drained.
        """
        device_id = slot.device.device_id
        if event.cause is Cause.NODE_LOST:
            return []  # says nothing about the device
        if not _is_device_fault(slot, event):
            if event.state is not TrialState.CANCELLED:
                self._ledger.record_success(device_id)
            return []
        reason = self._ledger.record_failure(device_id, trial.trial_id, f"{event.cause}: {event.message}")
        if reason is None:
            return []
        log.error("device %s is drained: %s", device_id, reason)
        changes: list[Change] = [DeviceDrained(device_id, reason, at)]
        return changes if slot.lost else [*changes, slot.device_change(at)]

    def apply(self, pending: PendingCommands, at: float) -> list[Change]:
        """Drain devices, reserve them for ensembles, and return them to trials."""
        closed = self._ledger.close(pending.dedicated, pending.drained)
        return _shown([slot for slot in closed if not slot.lost], at)

    def explain(
        self, sweeps: Sequence[LiveSweep], disk_shortage: str, at: float, reserved: Mapping[str, str]
    ) -> list[Change]:
        """Set the reasons why devices are idle. A device between two trials is not idle: it must be without a trial in
        two calls. `reserved`: the reasons of devices that a trial of several devices waits for.
        """
        without_trial = {slot.device.device_id for slot in self._ledger.available() if slot.trial is None}
        idle = without_trial & self._idle
        self._idle = without_trial
        changed = [
            slot
            for slot in self._ledger.available()
            if slot.set_idle(
                (reserved.get(slot.device.device_id) or slot_idle_reason(slot, sweeps, disk_shortage))
                if slot.device.device_id in idle
                else ""
            )
        ]
        return _shown(changed, at)

    def begin(self, slot: Slot, at: float) -> list[Change]:
        """Record that a slot gets a trial: it is no longer idle, even if the trial is short."""
        self._idle.discard(slot.device.device_id)
        return _shown([slot], at) if slot.set_idle("") else []

    def explain_rejected_writes(self, reason: str, since: float) -> list[Change]:
        """The database has rejected writes since `since`, so that nothing was started."""
        free = self._ledger.free()
        for slot in free:
            slot.set_idle(reason)
        return _shown(free, since)


def _shown(slots: Iterable[Slot], at: float) -> list[Change]:
    return [slot.device_change(at) for slot in slots]


def _is_device_fault(slot: Slot, event: Ended) -> bool:
    """Whether an attempt failed because of the device on which it ran.

    Slow imports are slow on every device; a full disk of the head, and the loss of a node, affect all its devices. A
    full disk of another machine stops no placement, so its devices are drained. A failure with a traceback is the
    program's own, unless the attempt found a device other than its slot's.
    """
    if event.state is not TrialState.FAILED:
        return False
    if event.cause is Cause.PINNING or (event.cause is Cause.DISK_FULL and slot.device.is_remote):
        return True
    return event.cause is Cause.INFRASTRUCTURE and not event.traceback
