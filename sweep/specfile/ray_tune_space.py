"""Converts Ray Tune's search space objects to parameters of a sweep file; the process of `tuning_script_conversion`.

Objects are recognized by the names of their classes in `ray.tune.search.sample`, so that Ray is not imported. Bounds
follow that module: `uniform` and `loguniform` include both ends; `randint` and `lograndint` exclude the upper one;
`quniform`, `qloguniform`, `qrandint` and `qlograndint` are the multiples of `q` between the bounds, the upper one
included, but excluded for the latter two with `q=1`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from podium.sweep.values.errors import ConversionError

SEPARATOR = "."  # of nested names
Parameter = dict[str, Any]
_SAMPLE = "ray.tune.search.sample"


@dataclass
class Space:
    """Parameters by name, the names of those with grid search, and notes on the conversion."""

    parameters: dict[str, Parameter] = field(default_factory=dict)
    grid: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


def is_domain(value: Any) -> bool:
    """Whether it is a search space object of Ray Tune."""
    return any(kind.__module__ == _SAMPLE and kind.__name__ == "Domain" for kind in type(value).__mro__)


def is_grid(value: Any) -> bool:
    """Whether it is a result of `tune.grid_search`."""
    return isinstance(value, Mapping) and value.keys() == {"grid_search"}


def space_of(param_space: Mapping[str, Any]) -> Space:
    """Raises `ConversionError`."""
    space = Space()
    for names, value in _flattened(param_space, ()):
        name = SEPARATOR.join(names)
        if name in space.parameters:
            raise ConversionError(f"duplicate parameter {name!r}: one nested, one with a dotted name; rename one")
        if len(names) > 1:
            nested = "".join(f"[{part!r}]" for part in names)
            space.notes.append(f"parameters.{name}: nested parameter; still available as config{nested}")
        if is_grid(value) or (is_domain(value) and value.is_grid()):
            choices = value["grid_search"] if is_grid(value) else value.categories
            space.parameters[name] = {"values": [plain(choice, name) for choice in choices]}
            space.grid.add(name)
        elif is_domain(value):
            space.parameters[name] = parameter_of_domain(value, name)
        else:
            space.parameters[name] = {"value": plain(value, name)}
    return space


def _flattened(block: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in block.items():
        if isinstance(value, Mapping) and not is_grid(value):
            yield from _flattened(value, (*names, str(name)))
        else:
            yield (*names, str(name)), value


def plain(value: Any, name: str) -> Any:
    """A number, string, boolean or None; numpy scalars as Python's. Raises `ConversionError` for other values."""
    value = value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0 else value
    if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ConversionError(
        f"{name}: must be a number, string, boolean or None, got {value!r:.80}; use a name and look it up in code"
    )


def parameter_of_domain(domain: Any, name: str) -> Parameter:
    """Raises `ConversionError` for an unsupported object."""
    kind, sampler = type(domain).__name__, domain.get_sampler()
    if kind == "Function":
        raise ConversionError(
            f"{name}: tune.sample_from is not supported; "
            "use a range, or compute the value in the trainable from other parameters"
        )
    if kind == "Categorical":
        return {"values": [plain(choice, name) for choice in domain.categories]}
    q = None
    if type(sampler).__name__ == "Quantized":
        q, sampler = plain(sampler.q, name), sampler.get_sampler()
    shape = next((base.__name__ for base in type(sampler).__mro__ if base.__name__ in _SHAPES), None)
    if kind not in ("Float", "Integer") or shape is None:
        raise ConversionError(f"{name}: {type(domain).__name__} with {type(sampler).__name__} is not supported")
    if shape == "Normal":
        drawn = {"mu": float(sampler.mean), "sigma": float(sampler.sd)}
        return {"distribution": "normal", **drawn} if q is None else {"distribution": "q_normal", **drawn, "q": q}
    low, high = plain(domain.lower, name), plain(domain.upper, name)
    convert = _float_range if kind == "Float" else _integer_range
    return convert(name, low, high, q, log=shape == "LogUniform")


_SHAPES = ("Normal", "LogUniform", "Uniform")


def _float_range(name: str, low: float, high: float, q: float | None, *, log: bool) -> Parameter:
    low, high = float(low), float(high)
    if q is None:
        return {"min": low, "max": high, **({"log": True} if log else {})}
    _multiples(name, low, high, q)
    kind = "q_log_uniform_values" if log else "q_uniform"
    return {"distribution": kind, "min": low, "max": high, "q": q}


def _integer_range(name: str, low: int, high: int, q: int | None, *, log: bool) -> Parameter:
    low, high = int(low), int(high)
    if q is None or q == 1:
        if high <= low:
            raise ConversionError(f"{name}: there is no integer in [{low}, {high})")
        return {"min": low, "max": high - 1, **({"log": True} if log else {})}
    first, last = _multiples(name, low, high, q)
    if log:
        return {"distribution": "q_log_uniform_values", "min": first * q, "max": last * q, "q": q}
    return {"min": first * q, "max": last * q, "step": q}


def _multiples(name: str, low: float, high: float, q: float) -> tuple[int, int]:
    """The first and the last multiple between the bounds, as in Ray."""
    first, last = _index(low, q, math.ceil), _index(high, q, math.floor)
    if first > last:
        raise ConversionError(f"{name}: no multiple of {q:g} lies between {low:g} and {high:g}")
    return first, last


def _index(bound: float, q: float, inwards: Any) -> int:
    nearest = round(bound / q)
    return nearest if math.isclose(bound / q, nearest) else int(inwards(bound / q))
