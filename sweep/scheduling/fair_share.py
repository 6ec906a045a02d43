"""Decides which sweep gets a free slot, by device-seconds and priority, without starvation. Pure; scheduler process.

Start-time fair queueing (Goyal, Vin and Cheng 1996) over device-seconds: the position of each sweep advances by the
device-seconds that it uses, divided by its priority, and the sweep that is furthest behind is served. A sweep that is
new, or could not start trials for a while, moves to the position of the one furthest behind: it gets its share from now
on, without compensation for the time before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """A sweep with ready or running trials."""

    sweep_id: int
    running: int = 0
    max_concurrent: int | None = None
    priority: float = 1.0
    used_s: float = 0.0  # device-seconds of the running attempts so far
    held_s: float = 0.0  # and the expected number at their end
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
        """Charge a sweep for `device_s` device-seconds."""
        self._positions[sweep_id] = self._positions.get(sweep_id, 0.0) + device_s / priority

    def forget(self, sweep_id: int) -> None:
        """Remove a sweep that has ended."""
        self._positions.pop(sweep_id, None)
        self._present.discard(sweep_id)

    def choose(self, claims: Sequence[Claim], skipped: Collection[int] = ()) -> int | None:
        """The sweep to serve next, in a tie the older one; None if no sweep may start a trial.

        Args:
            claims: Those of all sweeps with ready or running trials; new sweeps join now.
            skipped: Sweeps that the free devices do not suffice for; they keep their positions.
        """
        self._join(claims)
        allowed = [claim for claim in claims if claim.allowed and claim.sweep_id not in skipped]
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
