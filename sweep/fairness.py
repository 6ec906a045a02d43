"""Which sweep gets the free slot: the one that holds the fewest, the older one in a tie; pure, scheduler."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """A sweep that has a trial ready."""

    sweep_id: int
    running: int
    max_concurrent: int | None


def choose(claims: Iterable[Claim]) -> int | None:
    """The sweep to serve next, or None when none may have more."""
    allowed = [c for c in claims if c.max_concurrent is None or c.running < c.max_concurrent]
    return min(allowed, key=lambda c: (c.running, c.sweep_id)).sweep_id if allowed else None
