"""Configurations drawn at random from a search space, without Optuna: to be looked at, not tried; cli."""

from __future__ import annotations

import math
import random

from sweep.drawing import draw
from sweep.space import Parameter
from sweep.spec import SweepSpec
from sweep.steps import on_step
from sweep.trial import Params, Scalar


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
    if parameter.integer:
        return _whole(int(parameter.min), int(parameter.max), parameter, generator)
    low, high = float(parameter.min), float(parameter.max)
    if parameter.log:
        return min(high, max(low, math.exp(generator.uniform(math.log(low), math.log(high)))))
    count = parameter.count()
    if count is not None and parameter.step is not None:
        return on_step(low, parameter.step, generator.randrange(count))
    return generator.uniform(low, high)


def _whole(low: int, high: int, parameter: Parameter, generator: random.Random) -> int:
    if not parameter.log:
        return generator.randrange(low, high + 1, int(parameter.step or 1))
    drawn = math.exp(generator.uniform(math.log(low - 0.5), math.log(high + 0.5)))  # each whole number has its width
    return min(high, max(low, round(drawn)))
