"""Time as a port, so that tests can move it; pure, in the scheduler, the gateway and the tests."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks: one to measure with, one to write down."""

    def monotonic_s(self) -> float:
        """Seconds that never run backwards; only differences mean anything."""
        ...

    def wall_s(self) -> float:
        """Seconds since the epoch, for people."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def wall_s(self) -> float:
        return time.time()
