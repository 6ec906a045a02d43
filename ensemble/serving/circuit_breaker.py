"""When a member is not asked any more, and how it comes back (Nygard 2018, chapter 5); pure, gateway."""

from __future__ import annotations

from collections import deque

from podium.ensemble.values.ensemble_spec import MemberState

OPEN_AFTER = 5  # failures in a row
WINDOW = 20  # the last requests
OPEN_SHARE = 0.5  # of the window
SUSPECT_SHARE = 0.2
FIRST_PROBE_S = 0.5
MAX_PROBE_S = 10.0


class Breaker:
    """The breaker of one replica. While it is open the replica is skipped at once; a probe closes it."""

    def __init__(self) -> None:
        self._recent: deque[bool] = deque(maxlen=WINDOW)  # True: failed
        self._in_a_row = 0
        self._open = False
        self._probing = False
        self._wait_s = FIRST_PROBE_S
        self._probe_at_s = 0.0
        self.reason = ""

    @property
    def state(self) -> MemberState:
        if self._open:
            return MemberState.HALF_OPEN if self._probing else MemberState.OPEN
        suspect = self._in_a_row or sum(self._recent) > SUSPECT_SHARE * len(self._recent)
        return MemberState.SUSPECT if suspect else MemberState.READY

    @property
    def is_open(self) -> bool:
        """Whether the replica is not to be asked."""
        return self._open

    def succeeded(self) -> None:
        """It answered a request."""
        self._recent.append(False)
        self._in_a_row = 0
        if self.state is MemberState.READY and len(self._recent) >= WINDOW // 2:
            self._wait_s = FIRST_PROBE_S

    def failed(self, why: str, now_s: float) -> None:
        """It failed a request, or let it wait too long."""
        self._recent.append(True)
        self._in_a_row += 1
        share_is_high = len(self._recent) >= WINDOW // 2 and sum(self._recent) >= OPEN_SHARE * len(self._recent)
        if not self._open and (self._in_a_row >= OPEN_AFTER or share_is_high):
            self._open = True
            self.reason = why
            self._probe_after_a_wait(now_s)

    def probe_due(self, now_s: float) -> bool:
        """Whether to send a probe now."""
        return self._open and not self._probing and now_s >= self._probe_at_s

    def probe_sent(self) -> None:
        self._probing = True

    def probe_ended(self, ok: bool, now_s: float) -> None:
        """The probe came back: closed and with a clean record, or open for twice as long."""
        self._probing = False
        if not ok:
            self._probe_after_a_wait(now_s)
            return
        self._open = False
        self._recent.clear()
        self._in_a_row = 0
        self.reason = ""

    def _probe_after_a_wait(self, now_s: float) -> None:
        """Longer each time, until it has done well for a while: some answer every probe and no request."""
        self._probe_at_s = now_s + self._wait_s
        self._wait_s = min(2 * self._wait_s, MAX_PROBE_S)
