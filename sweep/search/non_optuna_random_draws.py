"""Random draws from distributions that Optuna lacks, and of weighted choices. Pure; scheduler and search processes."""

from __future__ import annotations

import math
import random

from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.strict_model import LARGEST
from podium.sweep.values.attempt_assignment import Scalar
from podium.sweep.values.range_sampling import sample_range


def draw(parameter: Parameter, seed: str) -> Scalar:
    """A value of a `drawn` parameter; equal seeds give equal values."""
    rng = random.Random(seed)  # noqa: S311 - not a secret
    if parameter.values is not None:
        return rng.choices(parameter.values, parameter.probabilities)[0]
    value = _continuous(parameter, rng)
    if parameter.q is None:
        return value
    return _on_multiple(value, parameter)


def _continuous(parameter: Parameter, rng: random.Random) -> float:
    kind = parameter.distribution or ""
    if kind.endswith("log_normal"):
        return math.exp(rng.gauss(parameter.mu, parameter.sigma))
    if kind.endswith("normal"):
        return rng.gauss(parameter.mu, parameter.sigma)
    if kind.endswith("beta"):
        return rng.betavariate(parameter.a, parameter.b)
    assert parameter.min is not None and parameter.max is not None, kind
    return sample_range(float(parameter.min), float(parameter.max), None, rng, log=True)


def _on_multiple(value: float, parameter: Parameter) -> float | int:
    """The nearest multiple of `q` within the bounds, if there are bounds; these are positive."""
    assert parameter.q is not None
    steps = round(value / parameter.q)
    if parameter.is_range:
        assert parameter.min is not None and parameter.max is not None
        fewest = max(1, math.ceil(parameter.min / parameter.q))  # min / q may underflow to 0
        steps = min(max(steps, fewest), math.floor(parameter.max / parameter.q))
    multiple = steps * parameter.q
    return multiple if abs(multiple) <= LARGEST else float(multiple)
