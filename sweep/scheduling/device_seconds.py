"""The device-seconds of the running attempts of a sweep, as sums that each event updates. Pure; scheduler process."""

from __future__ import annotations

import math

from podium.sweep.scheduling.live_trial import LiveTrial


class DeviceSeconds:
    """The device time of one sweep. All times are monotonic."""

    def __init__(self) -> None:
        self._running = 0
        self._holding = 0.0  # the devices that they occupy
        self._placed_s = 0.0  # the sum over these devices of the times at which their attempts were placed
        self._ran_s = 0.0  # and of the durations that these had run when this scheduler found them
        self._idle_since_s = -math.inf

    @property
    def running(self) -> int:
        """The number of attempts that have not ended: on a device, or sending their files."""
        return self._running

    @property
    def holding(self) -> float:
        """The number of devices that its attempts occupy."""
        return self._holding

    @property
    def idle_since_s(self) -> float:
        """When the last attempt ended."""
        return self._idle_since_s

    def used_s(self, now_s: float) -> float:
        """Device-seconds of the attempts on devices since this scheduler placed or found them."""
        return self._holding * now_s - self._placed_s

    def total_s(self, now_s: float) -> float:
        """Device-seconds of the attempts on devices, including those before this scheduler found them."""
        return self.used_s(now_s) + self._ran_s

    def add(self, trial: LiveTrial) -> None:
        """Add an attempt that occupies a device, or has left it and sends its files."""
        self._running += 1
        if trial.device_s is None:
            self._hold(trial, 1)

    def move(self, trial: LiveTrial, by_s: float) -> None:
        """Correct the start of an attempt that started later than it was placed."""
        self._placed_s += by_s * trial.width

    def release(self, trial: LiveTrial) -> None:
        """An attempt leaves its device."""
        self._hold(trial, -1)

    def remove(self, trial: LiveTrial, now_s: float) -> None:
        """Remove an attempt that has ended."""
        self._running -= 1
        self._idle_since_s = now_s
        if trial.device_s is None:
            self._hold(trial, -1)

    def _hold(self, trial: LiveTrial, sign: int) -> None:
        devices = sign * trial.width
        self._holding += devices
        self._placed_s += devices * trial.placed_s
        self._ran_s += devices * trial.ran_s
