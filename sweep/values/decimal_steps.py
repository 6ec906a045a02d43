"""Steps from one end of a range, counted as people write them: in decimals; pure, everywhere."""

from __future__ import annotations

from decimal import Decimal


def steps_within(low: float, high: float, step: float) -> int:
    """How many steps there are up to `high`; in decimals, as people write steps, and as Optuna counts them."""
    return int((Decimal(str(high)) - Decimal(str(low))) // Decimal(str(step)))


def on_step(low: float, step: float, index: int) -> float:
    """The number that so many steps from `low` lead to: 3 steps of 0.1 to 0.3, and not a little above."""
    return float(Decimal(str(low)) + index * Decimal(str(step)))
