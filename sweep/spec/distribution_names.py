"""W&B's names of distributions, and the ranges that they mean; cli, api and scheduler.

https://docs.wandb.ai/models/sweeps/sweep-config-keys. What is a list or a range becomes one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Literal

from podium.sweep.spec.strict_model import complain, unusable

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


def resolved(document: _Document, known: frozenset[str]) -> _Document:
    """The document of a parameter with its distribution's name turned into a range or a list, where it means one.

    `known`: the keys that a parameter may have; others are reported elsewhere. Raises what pydantic reports.
    """
    name = document.get("distribution")
    if name is None:
        _check_nameless(document)
        return document
    if not isinstance(name, str) or name not in KEYS:
        return document  # pydantic lists the names
    for key in sorted(document.keys() & known - {"distribution", "when"}):
        if key not in KEYS[name]:
            raise complain(f"{key} does not go with distribution: {name}, which takes {', '.join(KEYS[name])}", key)
    missing = [key for key in KEYS[name] if key not in document and key not in OPTIONAL]
    if missing:
        raise complain(f"distribution: {name} takes {', '.join(KEYS[name])}; {missing[0]} is missing")
    _check_numbers(document)
    return _MEANINGS[name](document) if name in _MEANINGS else document


def _check_nameless(document: _Document) -> None:
    for key in sorted(document.keys() & _OWNERS.keys()):
        raise complain(f"{key} goes with a distribution; write distribution: {_OWNERS[key]}, say, beside it", key)
    if "probabilities" in document and "values" not in document:
        raise complain("probabilities are of values; give those too", "probabilities")


def _check_numbers(document: _Document) -> None:
    for key in ("min", "max", "mu", "sigma", "a", "b", "q"):
        value = document.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise complain(f"{value!r} is not a finite number", key)
        if (complaint := unusable(value)) is not None:
            raise complain(complaint, key)
        if key in ("sigma", "a", "b", "q") and value <= 0:
            raise complain(f"{key} must be above 0, not {value:g}", key)


def _plain(document: _Document, **changes: Any) -> _Document:
    return {key: value for key, value in document.items() if key not in ("distribution", "q")} | changes


def _whole(document: _Document) -> _Document:
    for key in _RANGE:
        if not isinstance(document[key], int):
            raise complain(f"int_uniform is over whole numbers; {document[key]!r} is none", key)
    return _plain(document)


def _floats(document: _Document, **changes: Any) -> _Document:
    return _plain(document, min=float(document["min"]), max=float(document["max"]), **changes)


def _steps(document: _Document) -> _Document:
    """The multiples of `q` from `min` to `max`; counted in decimals, as people write them."""
    low, high, q = document["min"], document["max"], document.get("q", 1)
    width = Fraction(str(q))
    first, last = math.ceil(Fraction(str(low)) / width), math.floor(Fraction(str(high)) / width)
    if first > last and low <= high:
        raise complain(f"there is no multiple of {q:g} from {low:g} to {high:g}", "q")
    if first > last:
        return _plain(document, step=q)  # the wrong way round, which is said of every range
    if all(isinstance(value, int) for value in (low, high, q)):
        return _plain(document, min=first * q, max=last * q, step=q)
    return _plain(document, min=float(first * width), max=float(last * width), step=float(q))


def _exponents(document: _Document) -> _Document:
    """What W&B gives as exponents of e, as the values that they mean."""
    low, high = document["min"], document["max"]
    if document["distribution"].startswith("inv_"):
        low, high = -high, -low
    elif low > 0 and (high < 1 or high > _LARGEST or high / low >= _FAR):
        written = f"distribution: {document['distribution']}_values" if "q" in document else "log: true"
        raise complain(
            f"log_uniform takes exponents: {low:g} and {high:g} mean e**{low:g} to e**{high:g}; if they are the values "
            f"themselves, write {{min: {low:g}, max: {high:g}, {written}}}",
            "min",
        )
    if max(abs(low), abs(high)) > _LARGEST_EXPONENT:
        raise complain(f"e**{low:g} to e**{high:g} is more than can be computed with", "max")
    return {**document, "min": math.exp(low), "max": math.exp(high)}


_LARGEST = 50  # as an exponent, e**50 is 5e21
_LARGEST_EXPONENT = 700  # of what a float holds
_FAR = 100  # as exponents, a range over 43 orders of magnitude at least


def _logarithmic(document: _Document) -> _Document:
    return _floats(document, log=True)


def _logarithmic_steps(document: _Document) -> _Document:
    """Whole numbers on a log scale are a range; other multiples of `q` are drawn as they are."""
    q = document.get("q", 1)
    low, high = document["min"], document["max"]
    if low <= 0:
        raise complain(f"a log range starts above 0, not at {low:g}; write min: 1, say", "min")
    if not math.isfinite(high / q):
        raise complain(f"q {q:g} is too small to count values up to {high:g} in; write q: 1, say", "q")
    if math.ceil(low / q) > math.floor(high / q):
        raise complain(f"there is no multiple of {q:g} from {low:g} to {high:g}", "q")
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
