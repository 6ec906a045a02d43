"""Detects networks that fail on every input, so that only a new process helps; worker process.

After a persistent device error ("sticky" in CUDA), the process still answers health checks, but every computation fails
until it exits.
"""

from __future__ import annotations

MIN_FAILURES = 20
MIN_FAILING_S = 30.0


class FailureTracker:
    """Counts the failures since the last success."""

    def __init__(self, min_failing_s: float = MIN_FAILING_S) -> None:
        self._min_failing_s = min_failing_s
        self._failures = 0
        self._since_s = 0.0

    def record_success(self) -> None:
        """Reset: earlier failures were caused by their requests."""
        self._failures = 0

    def record_failure(self, now_s: float) -> bool:
        """Count a failure. Returns whether there are enough, over enough time, to suspect the network itself."""
        if not self._failures:
            self._since_s = now_s
        self._failures += 1
        return self._failures >= MIN_FAILURES and now_s - self._since_s >= self._min_failing_s
