"""Steps of a range in decimal arithmetic, so that 3 steps of 0.1 are 0.3; every process."""

from __future__ import annotations

from decimal import Decimal


def steps_within(low: float, high: float, step: float) -> int:
    """The number of steps from `low` up to `high`, in decimal arithmetic, as in Optuna."""
    return int((Decimal(str(high)) - Decimal(str(low))) // Decimal(str(step)))


def on_step(low: float, step: float, index: int) -> float:
    """`low + index * step` in decimal arithmetic."""
    return float(Decimal(str(low)) + index * Decimal(str(step)))
