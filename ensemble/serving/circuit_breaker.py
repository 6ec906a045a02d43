"""The circuit breaker of a replica (Nygard 2018, chapter 5); gateway process."""

from __future__ import annotations

from collections import deque

from podium.ensemble.values.ensemble_states import MemberState

OPEN_AFTER = 5  # consecutive failures
WINDOW = 20  # last requests
OPEN_SHARE = 0.5  # of the window
SUSPECT_SHARE = 0.2
FIRST_PROBE_S = 0.5
MAX_PROBE_S = 10.0


class CircuitBreaker:
    """Opens after repeated failures of one replica. An open replica is skipped until a probe succeeds."""

    def __init__(self) -> None:
        self._recent: deque[bool] = deque(maxlen=WINDOW)  # True: failed
        self._consecutive_failures = 0
        self._open = False
        self._probing = False
        self._probe_delay_s = FIRST_PROBE_S
        self._next_probe_s = 0.0
        self.reason = ""

    @property
    def state(self) -> MemberState:
        if self._open:
            return MemberState.HALF_OPEN if self._probing else MemberState.OPEN
        suspect = self._consecutive_failures or sum(self._recent) > SUSPECT_SHARE * len(self._recent)
        return MemberState.SUSPECT if suspect else MemberState.READY

    @property
    def is_open(self) -> bool:
        """Whether requests must skip the replica."""
        return self._open

    def record_success(self) -> None:
        """The replica answered a request."""
        self._recent.append(False)
        self._consecutive_failures = 0
        if self._probe_delay_s > FIRST_PROBE_S and self.state is MemberState.READY and len(self._recent) >= WINDOW // 2:
            self._probe_delay_s = FIRST_PROBE_S

    def record_failure(self, reason: str, now_s: float) -> None:
        """The replica failed a request, or did not answer it for too long."""
        self._recent.append(True)
        self._consecutive_failures += 1
        share_is_high = len(self._recent) >= WINDOW // 2 and sum(self._recent) >= OPEN_SHARE * len(self._recent)
        if not self._open and (self._consecutive_failures >= OPEN_AFTER or share_is_high):
            self._open = True
            self.reason = reason
            self._schedule_probe(now_s)

    def probe_due(self, now_s: float) -> bool:
        """Whether to send a probe now."""
        return self._open and not self._probing and now_s >= self._next_probe_s

    def probe_sent(self) -> None:
        self._probing = True

    def probe_ended(self, ok: bool, now_s: float) -> None:
        """Close the breaker and clear its history if the probe succeeded; otherwise double the delay."""
        self._probing = False
        if not ok:
            self._schedule_probe(now_s)
            return
        self._open = False
        self._recent.clear()
        self._consecutive_failures = 0
        self.reason = ""

    def _schedule_probe(self, now_s: float) -> None:
        """Double the delay until requests succeed again: some replicas answer probes only."""
        self._next_probe_s = now_s + self._probe_delay_s
        self._probe_delay_s = min(2 * self._probe_delay_s, MAX_PROBE_S)
