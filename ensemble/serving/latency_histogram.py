"""A histogram of latencies in fixed buckets: constant size, with estimated quantiles; all processes."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

# From 0.1 ms, the overhead of a link, to ten minutes, the longest deadline. Each bound is 1.2 to 2.5 times the one
# before, with the finest resolution around typical latencies.
LATENCY_MS = (
    0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 75.0, 100.0,
    150.0, 200.0, 300.0, 400.0, 500.0, 750.0, 1_000.0, 1_200.0, 1_500.0, 2_000.0, 5_000.0, 10_000.0, 20_000.0,
    50_000.0, 100_000.0, 250_000.0, 600_000.0,
)  # fmt: skip


@dataclass(slots=True)
class Histogram:
    """Counts of values by bucket: value <= buckets[0], <= buckets[1], ..., and above the last bound.

    `buckets` are upper bounds, ascending; `counts` has one more, and is not cumulative.
    """

    buckets: tuple[float, ...] = LATENCY_MS
    counts: list[int] = field(default_factory=list)
    sum: float = 0.0

    def __post_init__(self) -> None:
        if not self.counts:
            self.counts = [0] * (len(self.buckets) + 1)

    @property
    def count(self) -> int:
        """Number of observed values."""
        return sum(self.counts)

    def observe(self, value: float) -> None:
        """Add one value."""
        self.counts[bisect_left(self.buckets, value)] += 1
        self.sum += value

    def quantile(self, q: float) -> float | None:
        """The estimated value below which a share `q` (0 to 1) of all values are; None without values.

        Interpolates linearly within the bucket; the first bucket starts at 0. Above the last bound, returns that bound.
        This is the estimate of Prometheus' `histogram_quantile`.
        """
        count = self.count
        if count == 0:
            return None
        rank, below, low = q * count, 0, 0.0
        for bound, here in zip(self.buckets, self.counts, strict=False):
            if here and below + here >= rank:
                return low + (bound - low) * max(rank - below, 0.0) / here
            below, low = below + here, bound
        return low
