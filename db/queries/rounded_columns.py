"""Columns of numbers rounded to what a chart can show; api."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FEW = 100  # distinct values: they compress well, and a chart may compare them with the choices of a parameter
MAX_DECIMALS = 22  # 10^22 is the last power of ten that a float holds exactly


def rounded(columns: dict[str, list[Any]], digits: int | None) -> dict[str, list[Any]]:
    """The columns with fractions of `digits` significant digits; unchanged if `digits` is None.

    The digits count from the value or from the range of the column, whichever is smaller: 1000.0012 in a column from
    1000 to 1000.01 keeps the digits that tell it from its neighbors. Integers, columns with other values than
    numbers, and columns of few distinct values are unchanged.
    """
    if digits is None:
        return columns
    return {name: _rounded(column, digits) for name, column in columns.items()}


def _rounded(column: list[Any], digits: int) -> list[Any]:
    kinds = set(map(type, column))
    if not kinds <= {float, int, type(None)} or len(set(column)) <= FEW:
        return column
    values = np.array(column, dtype=float)
    decimals = _decimals(values, digits)
    scales = 10.0 ** np.minimum(decimals, MAX_DECIMALS)
    shown: list[Any] = np.where(decimals <= MAX_DECIMALS, np.rint(values * scales) / scales, values).tolist()
    if None not in column and int not in kinds:
        return shown
    return [number if type(old) is float else old for old, number in zip(column, shown, strict=True)]


def _decimals(values: NDArray[np.float64], digits: int) -> NDArray[np.int64]:
    """The decimals that each value keeps; more than MAX_DECIMALS if it cannot be rounded."""
    finite = np.isfinite(values) & (values != 0)
    sizes = np.minimum(np.abs(values), np.ptp(values[np.isfinite(values)]))
    places = np.full(len(values), MAX_DECIMALS + 1)
    places[finite] = np.maximum(digits - 1 - np.floor(np.log10(sizes[finite])).astype(np.int64), 0)
    return places
