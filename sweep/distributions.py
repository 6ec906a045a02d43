"""Which of Optuna's distributions a parameter is; scheduler, and whoever hands a sweep to Optuna."""

from __future__ import annotations

from decimal import Decimal

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from sweep.space import Parameter


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
    return FloatDistribution(low, _last_step(low, high, float(parameter.step)), step=float(parameter.step))


def _whole(low: int, high: int, step: int, *, log: bool) -> IntDistribution:
    return IntDistribution(low, low + (high - low) // step * step, log=log, step=step)


def _last_step(low: float, high: float, step: float) -> float:
    """The highest step that is not above `high`; in decimals, as people write steps, and as Optuna counts them."""
    start, width = Decimal(str(low)), Decimal(str(step))
    return float((Decimal(str(high)) - start) // width * width + start)
