"""W&B's distribution names, converted to `values` or a range where possible; CLI, api process and scheduler.

Reference: https://docs.wandb.ai/models/sweeps/sweep-config-keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Literal

from podium.sweep.spec.strict_model import field_error, invalid_number_reason

Name = Literal[
    "constant",
    "categorical",
    "categorical_w_probabilities",
    "int_uniform",
    "uniform",
    "q_uniform",
    "log_uniform",
    "log_uniform_values",
    "q_log_uniform",
    "q_log_uniform_values",
    "inv_log_uniform",
    "inv_log_uniform_values",
    "normal",
    "q_normal",
    "log_normal",
    "q_log_normal",
    "beta",
    "q_beta",
]

_RANGE, _NORMAL, _BETA = ("min", "max"), ("mu", "sigma"), ("a", "b")
KEYS: Mapping[str, tuple[str, ...]] = {
    "constant": ("value",),
    "categorical": ("values", "probabilities", "ordered"),
    "categorical_w_probabilities": ("values", "probabilities"),
    "int_uniform": _RANGE,
    "uniform": _RANGE,
    "q_uniform": (*_RANGE, "q"),
    "log_uniform": _RANGE,
    "log_uniform_values": _RANGE,
    "q_log_uniform": (*_RANGE, "q"),
    "q_log_uniform_values": (*_RANGE, "q"),
    "inv_log_uniform": _RANGE,
    "inv_log_uniform_values": _RANGE,
    "normal": _NORMAL,
    "q_normal": (*_NORMAL, "q"),
    "log_normal": _NORMAL,
    "q_log_normal": (*_NORMAL, "q"),
    "beta": _BETA,
    "q_beta": (*_BETA, "q"),
}
OPTIONAL = frozenset({"probabilities", "ordered", "q", "mu", "sigma"})
_OWNERS = {"mu": "normal", "sigma": "normal", "a": "beta", "b": "beta", "q": "q_uniform"}

_Document = dict[str, Any]


def resolve_distribution(document: _Document, known: frozenset[str]) -> _Document:
    """The parameter document with `distribution` replaced by the equivalent range or list, where there is one.

    `known`: the keys of a parameter; unknown keys are reported elsewhere. Raises errors that pydantic reports.
    """
    name = document.get("distribution")
    if name is None:
        _check_nameless(document)
        return document
    if not isinstance(name, str) or name not in KEYS:
        return document  # pydantic lists the names
    for key in sorted(document.keys() & known - {"distribution", "when"}):
        if key not in KEYS[name]:
            raise field_error(f"not a key of distribution: {name}; its keys: {', '.join(KEYS[name])}", key)
    missing = [key for key in KEYS[name] if key not in document and key not in OPTIONAL]
    if missing:
        raise field_error(f"distribution: {name} requires {missing[0]}; its keys: {', '.join(KEYS[name])}")
    _check_numbers(document)
    return _MEANINGS[name](document) if name in _MEANINGS else document


def _check_nameless(document: _Document) -> None:
    for key in sorted(document.keys() & _OWNERS.keys()):
        raise field_error(f"only valid with a distribution; add, for example, distribution: {_OWNERS[key]}", key)
    if "probabilities" in document and "values" not in document:
        raise field_error("only valid with values; add them", "probabilities")


def _check_numbers(document: _Document) -> None:
    for key in ("min", "max", "mu", "sigma", "a", "b", "q"):
        value = document.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise field_error(f"must be a finite number, got {value!r}", key)
        if (complaint := invalid_number_reason(value)) is not None:
            raise field_error(complaint, key)
        if key in ("sigma", "a", "b", "q") and value <= 0:
            raise field_error(f"must be greater than 0, got {value:g}", key)


def _plain(document: _Document, **changes: Any) -> _Document:
    return {key: value for key, value in document.items() if key not in ("distribution", "q")} | changes


def _whole(document: _Document) -> _Document:
    for key in _RANGE:
        if not isinstance(document[key], int):
            raise field_error(f"must be an integer with distribution: int_uniform, got {document[key]!r}", key)
    return _plain(document)


def _floats(document: _Document, **changes: Any) -> _Document:
    return _plain(document, min=float(document["min"]), max=float(document["max"]), **changes)


def _steps(document: _Document) -> _Document:
    """The multiples of `q` between `min` and `max`, in decimal arithmetic: 0.3 is a multiple of 0.1."""
    low, high, q = document["min"], document["max"], document.get("q", 1)
    width = Fraction(str(q))
    first, last = math.ceil(Fraction(str(low)) / width), math.floor(Fraction(str(high)) / width)
    if first > last and low <= high:
        raise field_error(f"no multiple of {q:g} lies between {low:g} and {high:g}", "q")
    if first > last:
        return _plain(document, step=q)  # min > max: reported by the check of every range
    if all(isinstance(value, int) for value in (low, high, q)):
        return _plain(document, min=first * q, max=last * q, step=q)
    return _plain(document, min=float(first * width), max=float(last * width), step=float(q))


def _exponents(document: _Document) -> _Document:
    """Converts W&B's bounds, which are exponents of e, to values."""
    low, high = document["min"], document["max"]
    if document["distribution"].startswith("inv_"):
        low, high = -high, -low
    elif low > 0 and (high < 1 or high > _LARGEST or high / low >= _FAR):
        written = f"distribution: {document['distribution']}_values" if "q" in document else "log: true"
        raise field_error(
            f"log_uniform takes exponents: {low:g} and {high:g} mean e**{low:g} to e**{high:g}; for a range of values "
            f"write {{min: {low:g}, max: {high:g}, {written}}}",
            "min",
        )
    if max(abs(low), abs(high)) > _LARGEST_EXPONENT:
        raise field_error(f"e**{low:g} to e**{high:g} overflows a float; use smaller exponents", "max")
    return {**document, "min": math.exp(low), "max": math.exp(high)}


_LARGEST = 50  # as an exponent, e**50 is 5e21
_LARGEST_EXPONENT = 700  # e**709 overflows a float
_FAR = 100  # ratio of the bounds: as exponents, a range over at least 43 orders of magnitude


def _logarithmic(document: _Document) -> _Document:
    return _floats(document, log=True)


def _logarithmic_steps(document: _Document) -> _Document:
    """With `q: 1` an integer range on a log scale; other multiples of `q` keep their distribution."""
    q = document.get("q", 1)
    low, high = document["min"], document["max"]
    if low <= 0:
        raise field_error(f"must be greater than 0 on a log scale, got {low:g}; for example, min: 1", "min")
    largest = max(low, high)
    if not math.isfinite(largest / q):
        raise field_error(f"{q:g} is too small for a bound of {largest:g}; for example, q: 1", "q")
    if max(1, math.ceil(low / q)) > math.floor(high / q):  # low / q may underflow to 0
        raise field_error(f"no multiple of {q:g} lies between {low:g} and {high:g}", "q")
    if q == 1:
        return _plain(document, min=max(1, math.ceil(low)), max=math.floor(high), log=True)
    whole = all(isinstance(value, int) for value in (low, high, q))
    kept = {"distribution": "q_log_uniform_values", "q": q}
    return (_plain(document) if whole else _floats(document)) | kept


def _choices(document: _Document) -> _Document:
    return _plain(document)


_MEANINGS: Mapping[str, Callable[[_Document], _Document]] = {
    "constant": _choices,
    "categorical": _choices,
    "categorical_w_probabilities": _choices,
    "int_uniform": _whole,
    "uniform": _floats,
    "q_uniform": _steps,
    "log_uniform": lambda document: _logarithmic(_exponents(document)),
    "log_uniform_values": _logarithmic,
    "inv_log_uniform": lambda document: _logarithmic(_exponents(document)),
    "inv_log_uniform_values": _logarithmic,
    "q_log_uniform": lambda document: _logarithmic_steps(_exponents(document)),
    "q_log_uniform_values": _logarithmic_steps,
}
