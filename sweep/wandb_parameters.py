"""The search space of a W&B sweep file, as ours: nested parameters by dotted names, W&B's defaults filled in; cli."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sweep.errors import InvalidSpecError

Location = tuple[str, ...]
MAX_DEPTH = 16
GRID_LIMIT = 10_000
_EXPONENTS = frozenset({"log_uniform", "q_log_uniform", "inv_log_uniform"})


def converted_parameters(block: Any, notes: list[str], origins: dict[Location, Location]) -> Any:
    """`parameters` of ours; `origins` gets where each one stands in the file. Raises `InvalidSpecError`."""
    if not isinstance(block, dict):
        return block  # our own check says what is wrong with it
    found: dict[str, Any] = {}
    for name, parameter, where in _flattened(block, (), ("parameters",)):
        if name in found:
            raise InvalidSpecError.at(where, f"there are two parameters {name!r}: one nested, one by its name")
        found[name] = _with_defaults(parameter)
        origins["parameters", name] = where
        if str(parameter.get("distribution")) in _EXPONENTS:
            notes.append(f"parameters.{name}: {parameter['distribution']} takes exponents of e, as in W&B")
    if nested := [name for name in found if len(origins["parameters", name]) > 2]:
        notes.append(f"parameters: nested ones have dotted names: {', '.join(nested)}")
    return found


def _flattened(
    block: Mapping[str, Any], names: tuple[str, ...], where: Location
) -> Iterator[tuple[str, dict[str, Any], Location]]:
    for name, parameter in block.items():
        here = (*where, name)
        if not isinstance(parameter, dict):
            words = f"a parameter is a mapping; for a constant write {{value: {parameter!r}}}"
            raise InvalidSpecError.at(here, words)
        if len(names) > MAX_DEPTH:
            raise InvalidSpecError.at(here, "parameters are nested too deeply")
        if isinstance(parameter.get("parameters"), dict):
            if more := sorted(parameter.keys() - {"parameters"}):
                words = f"a parameter with parameters of its own has no {more[0]}; give that to one of them"
                raise InvalidSpecError.at((*here, more[0]), words)
            yield from _flattened(parameter["parameters"], (*names, name), (*here, "parameters"))
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
    """How many points a grid over converted parameters has; None where that is not to be seen here, or absurd."""
    size = 1
    for parameter in parameters.values() if isinstance(parameters, dict) else ():
        count = _count(parameter)
        if count is None or (size := size * count) > GRID_LIMIT:
            return None
    return size or None


def _count(parameter: Mapping[str, Any]) -> int | None:
    if isinstance(parameter.get("values"), list):
        return len(parameter["values"])
    low, high, step = parameter.get("min"), parameter.get("max"), parameter.get("q", 1)
    if isinstance(low, int) and isinstance(high, int) and isinstance(step, int) and step > 0:
        return max(0, (high - low) // step + 1)
    return 1 if "value" in parameter else None
