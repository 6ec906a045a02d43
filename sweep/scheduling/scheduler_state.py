"""The state of the scheduler, by owner. Pure; scheduler process."""

from __future__ import annotations

import random
from pathlib import Path

from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.scheduling.active_sweeps import ActiveSweeps
from podium.sweep.scheduling.device_availability import DeviceAvailability
from podium.sweep.scheduling.device_ledger import DeviceLedger
from podium.sweep.scheduling.disk_gate import DiskGate
from podium.sweep.scheduling.fair_share import FairShare
from podium.sweep.scheduling.live_trial import LiveTrial


class SchedulerState:
    """Everything that decisions depend on. Each owner changes only through its own methods."""

    def __init__(self, data: DataDirectory, last_trial_id: int, chance: random.Random | None = None) -> None:
        self.sweeps = ActiveSweeps(last_trial_id)
        self.ledger = DeviceLedger()
        self.availability = DeviceAvailability(self.ledger)
        self.shares = FairShare()
        self.disk = DiskGate()
        self.data = data
        self._chance = chance or random.Random()  # noqa: S311 - the nonces are no secrets
        self._stopping = False

    @property
    def stopping(self) -> bool:
        """Whether the service is stopping: nothing new starts."""
        return self._stopping

    def stop(self) -> None:
        """The service is stopping."""
        self._stopping = True

    def new_nonce(self) -> str:
        """A nonce for the folder of an attempt: after a restored backup, attempts get the same numbers again."""
        return f"{self._chance.getrandbits(32):08x}"

    def folder_of(self, trial: LiveTrial) -> Path:
        """The folder of a trial's current attempt."""
        return self.data.attempt(trial.sweep_id, trial.number, trial.attempt)
