"""The state of the scheduler, by owner. Pure; scheduler process."""

from __future__ import annotations

import hashlib
from pathlib import Path

from podium.sweep.lifecycle.pending_commands import MemberDevices
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.scheduling.active_sweeps import ActiveSweeps
from podium.sweep.scheduling.device_availability import DeviceAvailability
from podium.sweep.scheduling.device_ledger import DeviceLedger
from podium.sweep.scheduling.disk_space_gate import DiskGate
from podium.sweep.scheduling.fair_share import FairShare
from podium.sweep.scheduling.gang_reservation_and_backfill import ReservationHolder
from podium.sweep.scheduling.live_trial import LiveTrial


class SchedulerState:
    """Everything that decisions depend on. Each owner changes only through its own methods."""

    def __init__(self, data: DataDirectory, last_trial_id: int, salt: str) -> None:
        """`salt`: random for each scheduler; part of the names of the folders of the attempts that it places."""
        self.sweeps = ActiveSweeps(last_trial_id)
        self.ledger = DeviceLedger()
        self.availability = DeviceAvailability(self.ledger)
        self.shares = FairShare()
        self.reservation = ReservationHolder()
        self.disk = DiskGate()
        self.data = data
        self._salt = salt
        self._stopping = False
        self._members = MemberDevices()

    @property
    def members(self) -> MemberDevices:
        """The devices of members of ensembles."""
        return self._members

    def set_members(self, members: MemberDevices) -> None:
        """The devices of members of ensembles, as the host has recorded them."""
        self._members = members

    @property
    def stopping(self) -> bool:
        """Whether the service is stopping: nothing new starts."""
        return self._stopping

    def stop(self) -> None:
        """The service is stopping."""
        self._stopping = True

    def next_nonce(self, trial: LiveTrial) -> str:
        """The nonce of the folder of a trial's next attempt.

        After a backup of the database was restored, another scheduler places attempts with the same numbers.
        """
        key = f"{self._salt}:{trial.trial_id}:{trial.attempt + 1}"
        return hashlib.sha256(key.encode()).hexdigest()[:8]

    def folder_of(self, trial: LiveTrial) -> Path:
        """The folder of a trial's current attempt."""
        return self.data.attempt(trial.sweep_id, trial.number, trial.attempt, trial.nonce)

    def place_unsent_again(self, now_s: float) -> None:
        """Trials that were placed while the database rejected writes are sent to their slots only now."""
        for slot in self.ledger:
            if slot.trial is not None and slot.is_unsent:
                self.sweeps[slot.trial.sweep_id].place_again(slot.trial, now_s)
