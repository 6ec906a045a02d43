"""Optuna's distributions for parameters. Scheduler and search processes, import and export of studies.

Samplers see a parameter with `ordered: true` as an integer, the position of its value. Everywhere else (tables,
exports, studies for Optuna) it is a choice with the value itself.
"""

from __future__ import annotations

from typing import cast

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from podium.sweep.spec.search_space import Parameter
from podium.sweep.values.attempt_assignment import Scalar
from podium.sweep.values.decimal_steps import on_step, steps_within


def searched_distribution(parameter: Parameter) -> BaseDistribution | None:
    """The distribution for samplers: positions for ordered values, otherwise as `distribution_of`."""
    if parameter.ordered:
        assert parameter.values is not None
        return IntDistribution(0, len(parameter.values) - 1)
    return distribution_of(parameter)


def to_searched(parameter: Parameter, value: Scalar) -> Scalar:
    """A value as samplers see it. Raises `ValueError` if it is not among the ordered values."""
    if not parameter.ordered:
        return value
    assert parameter.values is not None
    return parameter.values.index(value)


def from_searched(parameter: Parameter, value: Scalar) -> Scalar:
    """The value for a sampler's value."""
    if not parameter.ordered:
        return value
    assert parameter.values is not None
    return parameter.values[cast(int, value)]


def distribution_of(parameter: Parameter) -> BaseDistribution | None:
    """Optuna's distribution; None if Optuna lacks it, so that Podium samples the parameter itself."""
    if parameter.is_custom_distribution:
        return None
    if not parameter.is_range:
        return CategoricalDistribution(parameter.choices() or [])
    assert parameter.min is not None and parameter.max is not None
    if parameter.integer:
        return _integers(int(parameter.min), int(parameter.max), int(parameter.step or 1), log=parameter.log)
    low, high = float(parameter.min), float(parameter.max)
    if parameter.step is None:
        return FloatDistribution(low, high, log=parameter.log)
    step = float(parameter.step)
    return FloatDistribution(low, on_step(low, step, steps_within(low, high, step)), step=step)


def _integers(low: int, high: int, step: int, *, log: bool) -> IntDistribution:
    return IntDistribution(low, low + (high - low) // step * step, log=log, step=step)
