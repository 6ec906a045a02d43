"""Detects components that missed heartbeats; pure, in the `podium serve` process.

Only components that have sent a heartbeat since their process started are watched.
"""

from __future__ import annotations

from typing import NamedTuple

UNRESPONSIVE_S = 15.0  # reported as silent, so the service is not ready
HUNG_S = 60.0  # killed and restarted
PAUSE_S = 10.0  # between two checks: the supervisor itself was suspended


class MissedHeartbeats(NamedTuple):
    """The components without a recent heartbeat, and those of them that are considered hung."""

    silent: set[str]
    hung: set[str]


class Heartbeats:
    """The time of the last heartbeat of each component."""

    def __init__(self, silent_s: float = UNRESPONSIVE_S, hung_s: float = HUNG_S, pause_s: float = PAUSE_S) -> None:
        self._silent_s, self._hung_s, self._pause_s = silent_s, hung_s, pause_s
        self._last_s: dict[str, float] = {}
        self._checked_s: float | None = None

    @property
    def hung_s(self) -> float:
        """Seconds without a heartbeat after which a component is considered hung."""
        return self._hung_s

    def record(self, name: str, now_s: float) -> None:
        """Record a heartbeat of a component."""
        self._last_s[name] = now_s

    def forget(self, name: str) -> None:
        """The process of a component ended."""
        self._last_s.pop(name, None)

    def is_watched(self, name: str) -> bool:
        """Whether the component has sent a heartbeat since its process started."""
        return name in self._last_s

    def check(self, now_s: float) -> MissedHeartbeats:
        """The silent and hung components; none if the supervisor itself was suspended since the last check."""
        if self._checked_s is not None and now_s - self._checked_s > self._pause_s:
            self._last_s = dict.fromkeys(self._last_s, now_s)
        self._checked_s = now_s
        ages_s = {name: now_s - last_s for name, last_s in self._last_s.items()}
        silent = {name for name, age_s in ages_s.items() if age_s >= self._silent_s}
        return MissedHeartbeats(silent, {name for name in silent if ages_s[name] >= self._hung_s})
