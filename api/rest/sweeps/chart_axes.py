"""Chart axes of the parameters of a sweep: kind, range and choices; api."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from podium.api.rest.schemas.base_schema import View
from podium.sweep.spec.search_space import Parameter
from podium.sweep.values.attempt_assignment import Scalar

MAX_CHOICES = 200  # an axis with more is unreadable


class AxisView(View):
    """A parameter as an axis. Without `low` and `high`, the trials define the range."""

    name: str
    kind: Literal["number", "integer", "choice"]
    log: bool = False
    low: float | None = None
    high: float | None = None
    choices: list[Scalar] | None = None  # in the order of the sweep file
    constant: bool = False  # the sweep file gives the parameter one value


def axes_of(parameters: Mapping[str, Parameter], seen: Mapping[str, dict[str, Any]]) -> list[AxisView]:
    """Axes of the sweep file's `parameters`, then of parameters that only trials have, from their distributions."""
    others = {name: Parameter.model_validate(written) for name, written in seen.items() if name not in parameters}
    return [_axis(name, parameter) for name, parameter in {**parameters, **others}.items()]


def _axis(name: str, parameter: Parameter) -> AxisView:
    if parameter.is_range and parameter.min is not None and parameter.max is not None:
        kind: Literal["number", "integer"] = "integer" if parameter.integer else "number"
        return AxisView(name=name, kind=kind, log=parameter.log, low=parameter.min, high=parameter.max)
    choices = parameter.choices()
    if choices is None:
        return AxisView(name=name, kind="number", log=(parameter.distribution or "").endswith("log_normal"))
    return AxisView(name=name, kind="choice", choices=choices[:MAX_CHOICES], constant=_is_one(choices))


def _is_one(choices: Collection[Scalar]) -> bool:
    return len(choices) == 1
