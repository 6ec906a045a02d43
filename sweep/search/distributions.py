"""Values that Podium draws by itself: distributions that Optuna has not, and weighted choices; pure, scheduler."""

from __future__ import annotations

import math
import random

from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.strict_model import LARGEST
from podium.sweep.values.rng import within
from podium.sweep.values.trial import Scalar


def draw(parameter: Parameter, seed: str) -> Scalar:
    """A value of a parameter that is `drawn`; the same seed gives the same one."""
    chance = random.Random(seed)  # noqa: S311 - a draw, not a secret
    if parameter.values is not None:
        return chance.choices(parameter.values, parameter.probabilities)[0]
    value = _continuous(parameter, chance)
    if parameter.q is None:
        return value
    return _on_multiple(value, parameter)


def _continuous(parameter: Parameter, chance: random.Random) -> float:
    kind = parameter.distribution or ""
    if kind.endswith("log_normal"):
        return math.exp(chance.gauss(parameter.mu, parameter.sigma))
    if kind.endswith("normal"):
        return chance.gauss(parameter.mu, parameter.sigma)
    if kind.endswith("beta"):
        return chance.betavariate(parameter.a, parameter.b)
    assert parameter.min is not None and parameter.max is not None, kind
    return within(float(parameter.min), float(parameter.max), None, chance, log=True)


def _on_multiple(value: float, parameter: Parameter) -> float | int:
    """The nearest multiple of `q` that is within the bounds, if there are any."""
    assert parameter.q is not None
    steps = round(value / parameter.q)
    if parameter.is_range:
        assert parameter.min is not None and parameter.max is not None
        steps = min(max(steps, math.ceil(parameter.min / parameter.q)), math.floor(parameter.max / parameter.q))
    multiple = steps * parameter.q
    return multiple if abs(multiple) <= LARGEST else float(multiple)
