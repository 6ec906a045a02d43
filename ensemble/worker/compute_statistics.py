"""Statistics of a worker's computations; worker process."""

from __future__ import annotations

import threading
from collections import deque

from podium.ensemble.worker.batching import quantile

_WINDOW = 512  # batches, for the quantiles


class ComputeStatistics:
    """Counts and times of successful computations; written by one thread, read by another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batches = 0
        self._rows = 0
        self._times_ms: deque[float] = deque(maxlen=_WINDOW)

    def count(self, rows: int, seconds: float) -> None:
        with self._lock:
            self._batches += 1
            self._rows += rows
            self._times_ms.append(seconds * 1000)

    def summary(self) -> dict[str, int | float | None]:
        """Totals, and quantiles of the last times in milliseconds; None before the first computation."""
        with self._lock:
            batches, rows, times_ms = self._batches, self._rows, list(self._times_ms)
        return {
            "batches": batches,
            "rows_per_batch": rows / batches if batches else None,
            "compute_p50_ms": quantile(times_ms, 0.5) if times_ms else None,
            "compute_p95_ms": quantile(times_ms, 0.95) if times_ms else None,
        }
