"""Which sweep gets the free slot: by device-seconds and priority, so that none is starved; pure, scheduler.

Start-time fair queueing (Goyal, Vin and Cheng 1996) over device-seconds: each sweep has a position, which moves on
by the time that it uses divided by its priority, and the one that is furthest behind is served. A sweep that comes
later, or may not have more for a while, goes along with the one furthest behind of those that may: it gets its share
from now on, not what it did not use before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """A sweep that has a trial ready, or trials running."""

    sweep_id: int
    running: int = 0
    max_concurrent: int | None = None
    priority: float = 1.0
    used_s: float = 0.0  # device-seconds of what runs now, so far
    held_s: float = 0.0  # and by its end, as far as that can be told
    ready: bool = True

    @property
    def allowed(self) -> bool:
        """Whether it may have one more slot."""
        return self.ready and (self.max_concurrent is None or self.running < self.max_concurrent)


class FairShare:
    """The positions of the sweeps."""

    def __init__(self) -> None:
        self._positions: dict[int, float] = {}
        self._present: set[int] = set()

    def charge(self, sweep_id: int, device_s: float, priority: float) -> None:
        """A sweep has used a device for so long."""
        self._positions[sweep_id] = self._positions.get(sweep_id, 0.0) + device_s / priority

    def forget(self, sweep_id: int) -> None:
        """A sweep is over."""
        self._positions.pop(sweep_id, None)
        self._present.discard(sweep_id)

    def choose(self, claims: Sequence[Claim]) -> int | None:
        """The sweep to serve next, the older one in a tie; None when none may have more.

        `claims` are of all sweeps that run something or could: those that are new here join now.
        """
        self._join(claims)
        allowed = [claim for claim in claims if claim.allowed]
        return min(allowed, key=lambda claim: (self._position(claim), claim.sweep_id)).sweep_id if allowed else None

    def _join(self, claims: Sequence[Claim]) -> None:
        here = [claim for claim in claims if claim.sweep_id in self._present]
        waiting = [claim for claim in here if claim.allowed] or here
        start = min((self._so_far(claim) for claim in waiting), default=0.0)
        for claim in claims:
            if claim not in waiting:
                behind = start - self._so_far(claim)
                self._positions[claim.sweep_id] = self._positions.get(claim.sweep_id, 0.0) + max(behind, 0.0)
        self._present = {claim.sweep_id for claim in claims}

    def _so_far(self, claim: Claim) -> float:
        return self._positions.get(claim.sweep_id, 0.0) + claim.used_s / claim.priority

    def _position(self, claim: Claim) -> float:
        return self._positions.get(claim.sweep_id, 0.0) + claim.held_s / claim.priority
