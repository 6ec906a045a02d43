"""What `trial.suggest_*` asks for, written as a parameter of a sweep file: {"min": 0.0, "max": 1.0}; trial process."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from podium.sweep.values.decimal_steps import on_step, steps_within
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.rng import within
from podium.sweep.values.trial import Scalar

Distribution = dict[str, Any]
_ON_STEP = 1e-8
_LARGEST = 2**53
_MAX_NAME = 200


def float_range(name: str, low: float, high: float, step: float | None, log: bool) -> Distribution:
    """Raises `UserCodeError` for bounds that cannot be."""
    call = f"suggest_float({name!r}, {low!r}, {high!r})"
    _check_bounds(call, low, high, log)
    found: Distribution = {"min": float(low), "max": float(high)}
    if log and step is not None:
        raise UserCodeError(f"{call}: step and log do not go together")
    if step is not None:
        if not _is_number(step) or step <= 0:
            raise UserCodeError(f"{call}: step is a number above 0, not {step!r}")
        if not (high - low) / step < _LARGEST:
            raise UserCodeError(f"{call}: step {step!r} is too small for this range")
        low, high, step = float(low), float(high), float(step)
        found |= {"max": on_step(low, step, steps_within(low, high, step)), "step": step}
    return found | ({"log": True} if log else {})


def int_range(name: str, low: int, high: int, step: int, log: bool) -> Distribution:
    """Raises `UserCodeError` for bounds that cannot be."""
    call = f"suggest_int({name!r}, {low!r}, {high!r})"
    _check_bounds(call, low, high, log)
    if not all(float(number).is_integer() for number in (low, high)):
        raise UserCodeError(f"{call}: the bounds are whole numbers")
    if not _is_number(step) or not float(step).is_integer() or step < 1:
        raise UserCodeError(f"{call}: step is a whole number from 1, not {step!r}")
    if log and step != 1:
        raise UserCodeError(f"{call}: step and log do not go together")
    low, high, step = int(low), int(high), int(step)
    found: Distribution = {"min": low, "max": low + (high - low) // step * step}
    return found | ({"log": True} if log else {}) | ({"step": step} if step != 1 else {})


def choice_of(name: str, choices: Sequence[Scalar]) -> Distribution:
    """Raises `UserCodeError` where a choice is none of text, number, truth value or None."""
    call = f"suggest_categorical({name!r}, …)"
    values = list(choices)
    if not values:
        raise UserCodeError(f"{call}: there is nothing to choose from")
    for value in values:
        if value is not None and not isinstance(value, str | bool | int | float):
            raise UserCodeError(
                f"{call}: {value!r:.60} is no text, number, truth value or None; choose by a name, and look it up"
            )
        if isinstance(value, int | float) and not _is_number(value) and not isinstance(value, bool):
            raise UserCodeError(f"{call}: {value!r:.60} cannot be kept exactly")
        if isinstance(value, str) and not _is_text(value):
            raise UserCodeError(f"{call}: {value!a:.60} has half a character in it, and cannot be stored")
    return {"values": values}


def check_name(name: str) -> None:
    """Raises `UserCodeError` for what cannot be the name of a parameter."""
    if not isinstance(name, str) or not name or len(name) > _MAX_NAME or not name.isprintable():
        raise UserCodeError(f"{name!r:.60} cannot be the name of a parameter: a text of 1 to {_MAX_NAME} characters")


def complaint(value: Scalar, wanted: Distribution) -> str | None:
    """Why a planned value is not what the code asks for, or None."""
    if "values" in wanted:
        return None if value in wanted["values"] else f"not one of {wanted['values']!r}"
    low, high, step = wanted["min"], wanted["max"], wanted.get("step")
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        return f"not within {low!r} and {high!r}"
    if isinstance(low, int) and not float(value).is_integer():
        return "not a whole number"
    if step is not None and abs((value - low) / step - round((value - low) / step)) > _ON_STEP:
        return f"not on a step of {step!r} from {low!r}; write `step: {step!r}` in the sweep file"
    return None


def drawn(wanted: Distribution, chance: random.Random) -> Scalar:
    """A random value."""
    if "values" in wanted:
        choice: Scalar = chance.choice(wanted["values"])
        return choice
    return within(wanted["min"], wanted["max"], wanted.get("step"), chance, log=bool(wanted.get("log")))


def _check_bounds(call: str, low: float, high: float, log: bool) -> None:
    for end in (low, high):
        if isinstance(end, bool) or not _is_number(end):
            raise UserCodeError(f"{call}: {end!r:.60} is not a finite number that can be kept exactly")
    if low > high:
        raise UserCodeError(f"{call}: {low!r} is above {high!r}")
    if not math.isfinite(high - low):
        raise UserCodeError(f"{call}: the range is wider than can be computed with")
    if log and low <= 0:
        raise UserCodeError(f"{call}: a log range starts above 0, not at {low!r}")


def _is_text(value: str) -> bool:
    """Whether it can be sent: half of a surrogate pair is no character."""
    try:
        return bool(value.encode()) or not value
    except UnicodeEncodeError:
        return False


def _is_number(value: Any) -> bool:
    """Including numpy's, which are numbers too."""
    try:
        return math.isfinite(value) and (abs(value) <= _LARGEST or isinstance(value, float))
    except (TypeError, OverflowError):  # no number, or a whole one that no float holds
        return False
