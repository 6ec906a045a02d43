"""The distributions of `trial.suggest_*` calls, as in a sweep file: {"min": 0.0, "max": 1.0}; trial process."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from podium.sweep.values.attempt_assignment import Scalar
from podium.sweep.values.decimal_steps import on_step, steps_within
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.range_sampling import sample_range

Distribution = dict[str, Any]
_ON_STEP = 1e-8
_LARGEST = 2**53
_MAX_NAME = 200


def float_range(name: str, low: float, high: float, step: float | None, log: bool) -> Distribution:
    """Raises `UserCodeError` for invalid bounds."""
    call = f"suggest_float({name!r}, {low!r}, {high!r})"
    _check_bounds(call, low, high, log)
    found: Distribution = {"min": float(low), "max": float(high)}
    if log and step is not None:
        raise UserCodeError(f"{call}: step and log are mutually exclusive")
    if step is not None:
        if not _is_number(step) or step <= 0:
            raise UserCodeError(f"{call}: step must be a number greater than 0, got {step!r}")
        if not (high - low) / step < _LARGEST:
            raise UserCodeError(f"{call}: step {step!r} is too small for this range")
        low, high, step = float(low), float(high), float(step)
        found |= {"max": on_step(low, step, steps_within(low, high, step)), "step": step}
    return found | ({"log": True} if log else {})


def int_range(name: str, low: int, high: int, step: int, log: bool) -> Distribution:
    """Raises `UserCodeError` for invalid bounds."""
    call = f"suggest_int({name!r}, {low!r}, {high!r})"
    _check_bounds(call, low, high, log)
    if not all(float(number).is_integer() for number in (low, high)):
        raise UserCodeError(f"{call}: low and high must be integers")
    if not _is_number(step) or not float(step).is_integer() or step < 1:
        raise UserCodeError(f"{call}: step must be a positive integer, got {step!r}")
    if log and step != 1:
        raise UserCodeError(f"{call}: step and log are mutually exclusive")
    low, high, step = int(low), int(high), int(step)
    found: Distribution = {"min": low, "max": low + (high - low) // step * step}
    return found | ({"log": True} if log else {}) | ({"step": step} if step != 1 else {})


def choice_of(name: str, choices: Sequence[Scalar]) -> Distribution:
    """Raises `UserCodeError` if a choice is not a string, number, boolean or None."""
    call = f"suggest_categorical({name!r}, …)"
    values = list(choices)
    if not values:
        raise UserCodeError(f"{call}: choices must not be empty")
    for value in values:
        if value is not None and not isinstance(value, str | bool | int | float):
            raise UserCodeError(
                f"{call}: choices must be strings, numbers, booleans or None, got {value!r:.60}; suggest a name and "
                "look the object up in your code"
            )
        if isinstance(value, int | float) and not _is_number(value) and not isinstance(value, bool):
            raise UserCodeError(f"{call}: {value!r:.60} is not finite or exceeds 2**53")
        if isinstance(value, str) and not _is_text(value):
            raise UserCodeError(f"{call}: {value!a:.60} contains a lone surrogate (invalid Unicode)")
    return {"values": values}


def check_name(name: str) -> None:
    """Raises `UserCodeError` for an invalid parameter name."""
    if not isinstance(name, str) or not name or len(name) > _MAX_NAME or not name.isprintable():
        raise UserCodeError(f"parameter name must be a string of 1 to {_MAX_NAME} characters, got {name!r:.60}")


def invalid_reason(value: Scalar, wanted: Distribution) -> str | None:
    """Why a planned value does not match the suggested distribution, or None."""
    if "values" in wanted:
        return None if value in wanted["values"] else f"not one of {wanted['values']!r}"
    low, high, step = wanted["min"], wanted["max"], wanted.get("step")
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        return f"not between {low!r} and {high!r}"
    if isinstance(low, int) and not float(value).is_integer():
        return "not an integer"
    if step is not None and abs((value - low) / step - round((value - low) / step)) > _ON_STEP:
        return f"not a multiple of step {step!r} from {low!r}; set `step: {step!r}` in the sweep file"
    return None


def sample(wanted: Distribution, chance: random.Random) -> Scalar:
    """A random value."""
    if "values" in wanted:
        choice: Scalar = chance.choice(wanted["values"])
        return choice
    return sample_range(wanted["min"], wanted["max"], wanted.get("step"), chance, log=bool(wanted.get("log")))


def _check_bounds(call: str, low: float, high: float, log: bool) -> None:
    for end in (low, high):
        if isinstance(end, bool) or not _is_number(end):
            raise UserCodeError(f"{call}: bounds must be finite numbers up to 2**53, got {end!r:.60}")
    if low > high:
        raise UserCodeError(f"{call}: low ({low!r}) must not exceed high ({high!r})")
    if not math.isfinite(high - low):
        raise UserCodeError(f"{call}: the range is too wide: its width overflows a float")
    if log and low <= 0:
        raise UserCodeError(f"{call}: low must be greater than 0 with log=True, got {low!r}")


def _is_text(value: str) -> bool:
    """Whether it can be encoded as UTF-8: without lone surrogates."""
    try:
        return bool(value.encode()) or not value
    except UnicodeEncodeError:
        return False


def _is_number(value: Any) -> bool:
    """Whether it is a finite number, of numpy's types too, that is exact as a float."""
    try:
        return math.isfinite(value) and (abs(value) <= _LARGEST or isinstance(value, float))
    except (TypeError, OverflowError):  # not a number, or an integer too large for a float
        return False
