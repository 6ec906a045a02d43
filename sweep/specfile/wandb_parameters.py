"""Converts the search space of a W&B sweep file: dotted names for nested parameters, W&B's defaults; CLI and api."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podium.sweep.spec.grid import Grid, GridError
from podium.sweep.spec.search_space import Parameter
from podium.sweep.values.errors import Problem

Location = tuple[str, ...]
MAX_DEPTH = 16
_EXPONENTS = frozenset({"log_uniform", "q_log_uniform", "inv_log_uniform"})


def convert_parameters(block: Any, notes: list[str], origins: dict[Location, Location], problems: list[Problem]) -> Any:
    """The converted `parameters`. Adds file keys to `origins`, and parameters that cannot be converted to `problems`.

    Those are replaced by constants, so that references to them can be checked.
    """
    if not isinstance(block, dict):
        return block  # reported by the validation of the spec
    found: dict[str, Any] = {}
    for name, parameter, where in _flatten(block, (), ("parameters",), problems):
        if name in found:
            problems.append(Problem(where, f"duplicate parameter {name!r}: one nested, one with a dotted name"))
            continue
        found[name] = _with_defaults(parameter)
        origins["parameters", name] = where
        if str(parameter.get("distribution")) in _EXPONENTS:
            notes.append(f"parameters.{name}: the bounds of {parameter['distribution']} are exponents of e, as in W&B")
    if nested := [name for name in found if len(origins["parameters", name]) > 2]:
        notes.append(f"parameters: nested parameters have dotted names: {', '.join(nested)}")
    return found


def _flatten(
    block: Mapping[str, Any], names: tuple[str, ...], where: Location, problems: list[Problem]
) -> Iterator[tuple[str, dict[str, Any], Location]]:
    for name, parameter in block.items():
        here = (*where, name)
        if not isinstance(parameter, dict):
            problems.append(Problem(here, f"must be a mapping; for a constant write {{value: {parameter!r}}}"))
            yield ".".join((*names, name)), {"value": 0}, here
        elif len(names) > MAX_DEPTH:
            problems.append(Problem(here, "parameters are nested too deeply"))
        elif isinstance(parameter.get("parameters"), dict):
            if more := sorted(parameter.keys() - {"parameters"}):
                words = "not valid in a parameter with nested parameters; move it into one of them"
                problems.append(Problem((*here, more[0]), words))
            yield from _flatten(parameter["parameters"], (*names, name), (*here, "parameters"), problems)
        else:
            yield ".".join((*names, name)), parameter, here


def _with_defaults(parameter: dict[str, Any]) -> dict[str, Any]:
    """W&B's defaults: a normal distribution for mu and sigma, and q: 1."""
    if "distribution" not in parameter and {"mu", "sigma"} & parameter.keys():
        return {"distribution": "normal", **parameter}
    if str(parameter.get("distribution")).startswith("q_"):
        return {"q": 1, **parameter}
    return parameter


def grid_size(parameters: Any) -> int | None:
    """The number of grid points of converted parameters; None if one is invalid or continuous."""
    try:
        found = {name: Parameter.model_validate(parameter) for name, parameter in parameters.items()}
        return None if any(one.count() is None for one in found.values()) else Grid(found).size
    except (ValueError, TypeError, LookupError, AttributeError, GridError):  # reported by the validation of the spec
        return None
