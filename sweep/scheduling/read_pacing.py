"""Decides when the scheduler reads the requests of clients, and when it explains waits. Pure; scheduler process."""

from __future__ import annotations

TICK_S = 1.0  # between two reads without a wake-up


class ReadPacing:
    """A wake-up is followed by a read. Otherwise there is a read every `TICK_S` seconds, in a step without messages if
    possible: it takes several milliseconds, for which a free slot would wait. All times are monotonic.
    """

    def __init__(self) -> None:
        self._read_s = -TICK_S
        self._explained_s = -2 * TICK_S  # time of the read in whose step the reasons were set

    def start_read(self, now_s: float, *, woken: bool, busy: bool) -> bool:
        """Return whether a read is due, and record it. `busy`: the step has messages."""
        if not woken and now_s - self._read_s < (2 * TICK_S if busy else TICK_S):
            return False
        self._read_s = now_s
        return True

    def start_explanation(self) -> bool:
        """Return whether the reasons of waiting sweeps and idle devices are due after this read, and record it.

        Not after each wake-up: the first trials of a new sweep would wait for the reasons, which they end.
        """
        if self._read_s - self._explained_s < TICK_S:
            return False
        self._explained_s = self._read_s
        return True

    def wait_s(self, now_s: float) -> float:
        """How long to wait for messages until a read is due."""
        return max(0.0, self._read_s + TICK_S - now_s)
