"""Which finished trials become members; pure, api and tests."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from sweep.errors import EnsembleError


@dataclass(frozen=True, slots=True)
class Candidate:
    """A finished trial that left a model."""

    trial_id: int
    number: int
    value: float


def top_k(candidates: Iterable[Candidate], k: int, goal: str) -> list[Candidate]:
    """The `k` best by the sweep's metric, best first; ties go to the earlier trial, NaN never stands.

    Raises `EnsembleError` when there are fewer than `k`.
    """
    valid = [c for c in candidates if not math.isnan(c.value)]
    if len(valid) < k:
        raise EnsembleError(
            f"k is {k}, but only {len(valid)} finished trials of this sweep saved a model; lower k, or run more trials"
        )
    sign = -1.0 if goal == "maximize" else 1.0
    return sorted(valid, key=lambda c: (sign * c.value, c.number))[:k]
