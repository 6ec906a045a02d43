"""How a run of the benchmarks is to be done."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """`quick`: small work, to see that a benchmark runs; its figures mean nothing."""

    quick: bool = False
    repetitions: int = 5

    def say(self, line: str) -> None:
        """Show how it goes."""
        print(f"  {line}", file=sys.stderr, flush=True)
