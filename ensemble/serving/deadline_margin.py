"""How long before its deadline a request expires, so that its response leaves by the deadline; gateway process.

Requests that expire together are combined and written one after the other, after a timer that the event loop may have
delayed. The time that this took for earlier ones is reserved for the next ones.
"""

from __future__ import annotations

INITIAL_S = 0.005  # until a request has expired
MAX_SHARE = 0.05  # of a deadline
_MAX_DELAY_S = 0.05  # longer ones are stalls of the machine, which no reserve prevents
_DECAY = 0.9  # from one pass to the next, if it was shorter


class DeadlineMargin:
    """The recent delays of expired requests' responses."""

    def __init__(self, initial_s: float = INITIAL_S) -> None:
        self._delay_s = initial_s

    def before_deadline_s(self, deadline_s: float) -> float:
        """The seconds of a deadline to reserve: the largest recent delay, at most `MAX_SHARE` of the deadline."""
        return min(self._delay_s, MAX_SHARE * deadline_s)

    def record(self, delay_s: float) -> None:
        """Record the time from the expiry of the first request of a pass to the last response of the pass."""
        self._delay_s = max(min(delay_s, _MAX_DELAY_S), _DECAY * self._delay_s)
