"""The settings of a benchmark run."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """`quick`: small workloads, to test that a benchmark runs; its figures are meaningless."""

    quick: bool = False
    repetitions: int = 5

    def say(self, line: str) -> None:
        """Print progress."""
        print(f"  {line}", file=sys.stderr, flush=True)
