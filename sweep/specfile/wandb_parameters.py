"""The search space of a W&B sweep file, as ours: nested parameters by dotted names, W&B's defaults filled in; cli."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podium.sweep.spec.grid import Grid, GridError
from podium.sweep.spec.search_space import Parameter
from podium.sweep.values.errors import Problem

Location = tuple[str, ...]
MAX_DEPTH = 16
_EXPONENTS = frozenset({"log_uniform", "q_log_uniform", "inv_log_uniform"})


def converted_parameters(
    block: Any, notes: list[str], origins: dict[Location, Location], problems: list[Problem]
) -> Any:
    """`parameters` of ours; `origins` gets where each one stands in the file, `problems` what cannot be converted.

    A parameter that cannot be is a constant, so that what names it can be checked.
    """
    if not isinstance(block, dict):
        return block  # our own check says what is wrong with it
    found: dict[str, Any] = {}
    for name, parameter, where in _flattened(block, (), ("parameters",), problems):
        if name in found:
            problems.append(Problem(where, f"there are two parameters {name!r}: one nested, one by its name"))
            continue
        found[name] = _with_defaults(parameter)
        origins["parameters", name] = where
        if str(parameter.get("distribution")) in _EXPONENTS:
            notes.append(f"parameters.{name}: {parameter['distribution']} takes exponents of e, as in W&B")
    if nested := [name for name in found if len(origins["parameters", name]) > 2]:
        notes.append(f"parameters: nested ones have dotted names: {', '.join(nested)}")
    return found


def _flattened(
    block: Mapping[str, Any], names: tuple[str, ...], where: Location, problems: list[Problem]
) -> Iterator[tuple[str, dict[str, Any], Location]]:
    for name, parameter in block.items():
        here = (*where, name)
        if not isinstance(parameter, dict):
            problems.append(Problem(here, f"a parameter is a mapping; for a constant write {{value: {parameter!r}}}"))
            yield ".".join((*names, name)), {"value": 0}, here
        elif len(names) > MAX_DEPTH:
            problems.append(Problem(here, "parameters are nested too deeply"))
        elif isinstance(parameter.get("parameters"), dict):
            if more := sorted(parameter.keys() - {"parameters"}):
                words = f"a parameter with parameters of its own has no {more[0]}; give that to one of them"
                problems.append(Problem((*here, more[0]), words))
            yield from _flattened(parameter["parameters"], (*names, name), (*here, "parameters"), problems)
        else:
            yield ".".join((*names, name)), parameter, here


def _with_defaults(parameter: dict[str, Any]) -> dict[str, Any]:
    """What W&B takes where a key is left out: a normal distribution for mu and sigma, and q: 1."""
    if "distribution" not in parameter and {"mu", "sigma"} & parameter.keys():
        return {"distribution": "normal", **parameter}
    if str(parameter.get("distribution")).startswith("q_"):
        return {"q": 1, **parameter}
    return parameter


def grid_size(parameters: Any) -> int | None:
    """How many points a grid over converted parameters has; None where one is wrong, or continuous."""
    try:
        found = {name: Parameter.model_validate(parameter) for name, parameter in parameters.items()}
        return None if any(one.count() is None for one in found.values()) else Grid(found).size
    except (ValueError, TypeError, LookupError, AttributeError, GridError):  # our own check says what is wrong with it
        return None
