"""Whether a network fails whatever it is given: then only another process helps; pure, worker.

After an error of the device that stays ("sticky" in CUDA's words) the process answers its keeper as before, and fails
every computation until it ends.
"""

from __future__ import annotations

MIN_FAILURES = 20
MIN_FAILING_S = 30.0


class FailureTracker:
    """The computations that failed since the last that worked."""

    def __init__(self) -> None:
        self._failures = 0
        self._since_s = 0.0

    def worked(self) -> None:
        """Whatever failed before was the request's fault."""
        self._failures = 0

    def failed(self, now_s: float) -> bool:
        """Count one; whether there were so many, for so long, that the network itself is to be suspected."""
        if not self._failures:
            self._since_s = now_s
        self._failures += 1
        return self._failures >= MIN_FAILURES and now_s - self._since_s >= MIN_FAILING_S
