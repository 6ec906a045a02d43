"""The settings of a benchmark run."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """`quick`: small workloads, to test that a benchmark runs; its figures are meaningless.

    `largest`: leave larger sizes out, in benchmarks that measure several.
    """

    quick: bool = False
    repetitions: int = 5
    largest: int | None = None

    def sizes(self, quick: tuple[int, ...], full: tuple[int, ...]) -> tuple[int, ...]:
        """The sizes to measure."""
        return quick if self.quick else tuple(size for size in full if self.largest is None or size <= self.largest)

    def say(self, line: str) -> None:
        """Print progress."""
        print(f"  {line}", file=sys.stderr, flush=True)
