"""Which of Optuna's distributions a parameter is; scheduler, and whoever hands a sweep to Optuna."""

from __future__ import annotations

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from sweep.space import Parameter
from sweep.steps import on_step, steps_within


def distribution_of(parameter: Parameter) -> BaseDistribution | None:
    """None for what Optuna has no distribution for, and Podium draws by itself."""
    if parameter.drawn:
        return None
    if not parameter.is_range:
        return CategoricalDistribution(parameter.choices() or [])
    assert parameter.min is not None and parameter.max is not None
    if parameter.integer:
        return _whole(int(parameter.min), int(parameter.max), int(parameter.step or 1), log=parameter.log)
    low, high = float(parameter.min), float(parameter.max)
    if parameter.step is None:
        return FloatDistribution(low, high, log=parameter.log)
    step = float(parameter.step)
    return FloatDistribution(low, on_step(low, step, steps_within(low, high, step)), step=step)


def _whole(low: int, high: int, step: int, *, log: bool) -> IntDistribution:
    return IntDistribution(low, low + (high - low) // step * step, log=log, step=step)
