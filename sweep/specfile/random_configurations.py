"""Samples random configurations from a search space, without Optuna, for previews; CLI and api process."""

from __future__ import annotations

import random

from podium.sweep.search.non_optuna_random_draws import draw
from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import Params, Scalar
from podium.sweep.values.range_sampling import sample_range


def sample_configurations(spec: SweepSpec, count: int) -> list[Params]:
    """`count` configurations, seeded by the sweep; inactive parameters are omitted."""
    generator = random.Random(spec.seed)  # noqa: S311 - nothing secret
    return [_one(spec, generator) for _ in range(count)]


def _one(spec: SweepSpec, generator: random.Random) -> Params:
    params: Params = {}
    for name, parameter in spec.ordered():
        if parameter.active(params):
            params[name] = _value(parameter, generator)
    return params


def _value(parameter: Parameter, generator: random.Random) -> Scalar:
    """A value from the uniform distribution, or the log-uniform one for a log range."""
    if parameter.is_custom_distribution:
        return draw(parameter, str(generator.random()))
    if parameter.values is not None:
        return generator.choice(parameter.values)
    if parameter.min is None or parameter.max is None:
        return parameter.value
    low, high = parameter.min, parameter.max
    if not parameter.integer:
        low, high = float(low), float(high)
    return sample_range(low, high, parameter.step, generator, log=parameter.log)
