"""The latency of one replica over its last replies; gateway process."""

from __future__ import annotations

from collections import deque

_WINDOW = 512  # replies


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

    def late_share(self) -> float:
        return sum(self._late) / len(self._late) if self._late else 0.0

    def quantiles(self, *shares: float) -> list[float | None]:
        """The latency at each rank (0 to 1), rounded down; None without a reply."""
        times_ms = sorted(self._times_ms)  # without numpy, which is slower for this few values
        return [times_ms[int(share * (len(times_ms) - 1))] if times_ms else None for share in shares]
