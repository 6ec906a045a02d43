"""Detects components that missed heartbeats; pure, in the `podium serve` process.

Components are watched from their first heartbeat on, or since they were ready.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

UNRESPONSIVE_S = 10.0  # reported as silent, so the service is not ready
HUNG_S = 25.0  # killed and restarted: a loop sends heartbeats between its waits, each of which is limited to less
PAUSE_S = 10.0  # between two checks: the supervisor itself was suspended


class MissedHeartbeats(NamedTuple):
    """The components without a recent heartbeat, and of those that are considered hung, since when, in seconds."""

    silent: set[str]
    hung: dict[str, float]


class Heartbeats:
    """The time of the last heartbeat of each component."""

    def __init__(
        self,
        silent_s: float = UNRESPONSIVE_S,
        hung_s: float = HUNG_S,
        pause_s: float = PAUSE_S,
    ) -> None:
        self._silent_s, self._hung_s, self._pause_s = silent_s, hung_s, pause_s
        self._last_s: dict[str, float] = {}
        self._traced_s: dict[str, float] = {}  # when a debugger was last seen
        self._checked_s: float | None = None

    def record(self, name: str, now_s: float) -> None:
        """Record a heartbeat of a component."""
        self._last_s[name] = now_s

    def forget(self, name: str) -> None:
        """The process of a component ended."""
        self._last_s.pop(name, None)
        self._traced_s.pop(name, None)

    def is_watched(self, name: str) -> bool:
        """Whether the component has sent a heartbeat since its process started."""
        return name in self._last_s

    def check(self, now_s: float, is_traced: Callable[[str], bool] = lambda _: False) -> MissedHeartbeats:
        """The silent and hung components; none if the supervisor itself was suspended since the last check.

        Args:
            now_s: The time of the check.
            is_traced: Whether a debugger, which may pause it, is attached to a silent component.
        """
        if self._checked_s is not None and now_s - self._checked_s > self._pause_s:
            self._last_s = dict.fromkeys(self._last_s, now_s)
        self._checked_s = now_s
        ages_s = {name: now_s - last_s for name, last_s in self._last_s.items()}
        silent = {name for name, age_s in ages_s.items() if age_s >= self._silent_s}
        return MissedHeartbeats(
            silent, {name: ages_s[name] for name in silent if self._is_hung(name, now_s, traced=is_traced(name))}
        )

    def _is_hung(self, name: str, now_s: float, *, traced: bool) -> bool:
        if traced:
            self._traced_s[name] = now_s
        since_s = max(self._last_s[name], self._traced_s.get(name, self._last_s[name]))
        return now_s - since_s >= self._hung_s
