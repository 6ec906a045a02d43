"""The latency of one replica over its last replies; gateway process."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_WINDOW = 512  # replies


@dataclass(frozen=True, slots=True)
class LatencyWindow:
    """The latencies of the last replies of a replica, and how many of its last requests were late."""

    times_ms: list[float]
    late: int
    requests: int

    @classmethod
    def merged(cls, windows: Sequence[LatencyWindow]) -> LatencyWindow:
        """The windows of several gateways together."""
        times_ms = [time_ms for each in windows for time_ms in each.times_ms]
        return cls(times_ms, sum([each.late for each in windows]), sum([each.requests for each in windows]))

    @property
    def late_share(self) -> float:
        return self.late / self.requests if self.requests else 0.0


def quantiles(times_ms: Iterable[float], *shares: float) -> list[float | None]:
    """The latency at each rank (0 to 1), rounded down; None without a reply."""
    ranked = sorted(times_ms)  # without numpy, which is slower for this few values
    return [ranked[int(share * (len(ranked) - 1))] if ranked else None for share in shares]


class LatencyStatistics:
    """The latency of the last replies, late ones included, and the share of requests that were late."""

    def __init__(self, replies_per_quantile: int) -> None:
        self.p95_ms: float | None = None
        self._replies_per_quantile = replies_per_quantile
        self._since_quantile = 0
        self._late: deque[bool] = deque(maxlen=_WINDOW)
        self._times_ms: deque[float] = deque(maxlen=_WINDOW)

    def record(self, latency_ms: float, *, late: bool) -> None:
        """Add a reply. A late request was already counted as late when its deadline passed."""
        self._times_ms.append(latency_ms)
        if not late:
            self._late.append(False)
        self._since_quantile += 1
        if self._since_quantile >= self._replies_per_quantile:
            self._since_quantile = 0
            (self.p95_ms,) = self.quantiles(0.95)

    def record_late(self) -> None:
        """Add a request whose deadline passed without a reply."""
        self._late.append(True)

    @property
    def window(self) -> LatencyWindow:
        """A copy of the latencies."""
        return LatencyWindow(list(self._times_ms), sum(self._late), len(self._late))

    def late_share(self) -> float:
        return sum(self._late) / len(self._late) if self._late else 0.0

    def quantiles(self, *shares: float) -> list[float | None]:
        """The latency at each rank (0 to 1), rounded down; None without a reply."""
        return quantiles(self._times_ms, *shares)
