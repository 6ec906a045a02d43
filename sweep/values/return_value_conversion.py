"""Converts the return value of a trial's function to the values of its objectives; trial process."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from podium.sweep.values.errors import BadReportError, NonFiniteError

SHOWN = 200  # characters of the returned value in messages


def returned_values(returned: Any, objectives: Sequence[str]) -> tuple[float, ...]:
    """A number for each of `objectives`, the names of the sweep's metrics.

    One objective: a number, or a dict with its name. Several: a tuple or list in their order, or a dict. Raises
    `BadReportError` for anything else, and `NonFiniteError` for NaN or an infinity.
    """
    if returned is None:
        raise BadReportError(f"the function returned nothing; {_wanted(objectives)}")
    what = f"the function returned {returned!r:.{SHOWN}}"
    if isinstance(returned, Mapping):
        return _of_mapping(returned, objectives, what)
    if isinstance(returned, tuple | list):
        return _of_sequence(returned, objectives, what)
    if len(objectives) > 1:
        raise BadReportError(f"{what}; {_wanted(objectives)}")
    return (finite_number(returned, what),)


def finite_number(value: Any, what: str) -> float:
    """`value` as a float; `what` begins messages. Raises `BadReportError`, for NaN and infinity `NonFiniteError`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise BadReportError(f"{what}: not a number; return or report one float") from None
    if not math.isfinite(number):
        raise NonFiniteError(f"{what}: not finite")
    return number


def _of_mapping(returned: Mapping[Any, Any], objectives: Sequence[str], what: str) -> tuple[float, ...]:
    missing = [name for name in objectives if name not in returned]
    if missing:
        raise BadReportError(f"{what}: without {' and '.join(map(repr, missing))}; {_wanted(objectives)}")
    return tuple(finite_number(returned[name], f"{what}: its {name!r} is {returned[name]!r}") for name in objectives)


def _of_sequence(returned: Sequence[Any], objectives: Sequence[str], what: str) -> tuple[float, ...]:
    if len(returned) != len(objectives):
        raise BadReportError(f"{what}: {len(returned)} values for {len(objectives)}; {_wanted(objectives)}")
    if len(objectives) == 1:
        return (finite_number(returned[0], what),)
    return tuple(
        finite_number(value, f"{what}: its {name!r} is {value!r}")
        for name, value in zip(objectives, returned, strict=True)
    )


def _wanted(objectives: Sequence[str]) -> str:
    if len(objectives) == 1:
        return f"return a number, or a dict with {objectives[0]!r}"
    names = ", ".join(objectives)
    return f"the sweep has {len(objectives)} objectives: return a tuple ({names}), or a dict by these names"
