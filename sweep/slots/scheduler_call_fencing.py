"""Which scheduler a slot belongs to, and which of its calls count; slot.

A scheduler opens a session, and numbers its calls from 1. Ray may start the methods of an asynchronous actor in another
order than they were called, and may deliver a call again.
"""

from __future__ import annotations

import math
import time

from podium.sweep.values.errors import FencedError

POLL_S = 10.0


class SchedulerSession:
    """The session that was opened last; `number` identifies it."""

    def __init__(self) -> None:
        self.number = 0
        self.poll_s = POLL_S
        self.abandoned_s = math.inf
        self._epoch = 0  # of the scheduler that opened it
        self._call = 0  # the newest call of this session
        self.called_s = time.monotonic()  # when the scheduler called last

    def check(self, epoch: int, slot: str) -> None:
        """Raises `FencedError` if a scheduler with a higher epoch has opened a session."""
        if epoch < self._epoch:
            raise FencedError(f"slot {slot} belongs to the scheduler with epoch {self._epoch}, not {epoch}")

    def open(self, epoch: int, poll_s: float, abandoned_s: float) -> None:
        """Begin a session; calls of earlier ones are superseded."""
        self._epoch, self.poll_s, self.abandoned_s = epoch, poll_s, abandoned_s
        self.called_s = time.monotonic()
        self.number += 1
        self._call = 0

    def may_start(self, session: int, call: int) -> bool:
        """Whether a call need not wait for the one before it."""
        return session != self.number or call <= self._call + 1

    def start(self, session: int, call: int) -> bool | None:
        """Whether a call is the first one with its number; None if it is superseded."""
        if session != self.number or call < self._call:
            return None
        self.called_s = time.monotonic()
        is_first = call > self._call
        self._call = call
        return is_first

    def is_superseded(self, session: int, call: int) -> bool:
        """Whether a newer call has started."""
        return (session, call) != (self.number, self._call)

    @property
    def is_abandoned(self) -> bool:
        """Whether the scheduler has not called for so long that its attempts may be repeated elsewhere."""
        return time.monotonic() - self.called_s > self.abandoned_s
