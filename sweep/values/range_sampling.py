"""Samples numbers from a range of the search space without Optuna; every process."""

from __future__ import annotations

import math
import random

from podium.sweep.values.decimal_steps import on_step, steps_within


def sample_range(low: float, high: float, step: float | None, chance: random.Random, *, log: bool) -> int | float:
    """A uniform or log-uniform sample, with both bounds included; an integer if both bounds are integers.

    An integer of a log range has the probability of the interval that is rounded to it, as in Optuna.
    """
    if isinstance(low, int) and isinstance(high, int):
        return _whole_log(low, high, chance) if log else chance.randrange(low, high + 1, int(step or 1))
    if log:
        return _log(low, high, low=low, high=high, chance=chance)
    if step is not None:
        return on_step(low, step, chance.randint(0, steps_within(low, high, step)))
    return chance.uniform(low, high)


def _whole_log(low: int, high: int, chance: random.Random) -> int:
    return round(_log(low - 0.5, high + 0.5, low=low, high=high, chance=chance))


def _log(first: float, last: float, low: float, high: float, chance: random.Random) -> float:
    return min(high, max(low, math.exp(chance.uniform(math.log(first), math.log(last)))))
