"""A clock interface that tests can replace; scheduler and gateway."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock for durations and a wall clock for timestamps."""

    def monotonic_s(self) -> float:
        """Monotonic seconds; only differences are meaningful."""
        ...

    def wall_s(self) -> float:
        """Seconds since the epoch."""
        ...


class SystemClock:
    """The clocks of the operating system."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def wall_s(self) -> float:
        return time.time()
