"""Configurations drawn at random from a search space, without Optuna: to be looked at, not tried; cli."""

from __future__ import annotations

import random

from podium.sweep.search.distributions import draw
from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.rng import within
from podium.sweep.values.trial import Params, Scalar


def samples(spec: SweepSpec, count: int) -> list[Params]:
    """`count` configurations by the sweep's seed; a parameter whose condition does not hold is left out."""
    generator = random.Random(spec.seed)  # noqa: S311 - nothing secret
    return [_one(spec, generator) for _ in range(count)]


def _one(spec: SweepSpec, generator: random.Random) -> Params:
    params: Params = {}
    for name, parameter in spec.ordered():
        if parameter.active(params):
            params[name] = _value(parameter, generator)
    return params


def _value(parameter: Parameter, generator: random.Random) -> Scalar:
    """One value, each as likely as the next; on a log range each order of magnitude is."""
    if parameter.drawn:
        return draw(parameter, str(generator.random()))
    if parameter.values is not None:
        return generator.choice(parameter.values)
    if parameter.min is None or parameter.max is None:
        return parameter.value
    low, high = parameter.min, parameter.max
    if not parameter.integer:
        low, high = float(low), float(high)
    return within(low, high, parameter.step, generator, log=parameter.log)
