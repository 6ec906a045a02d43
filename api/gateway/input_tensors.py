"""Parses the input tensor of the Open Inference Protocol, from JSON or raw bytes, to float32; no I/O, gateway.

Every numeric datatype of the protocol is converted to float32; an integer that float32 cannot represent is an error
(`float32_conversion`). Raw bytes are little-endian, row-major, without padding (the protocol's binary tensor data
extension). Nothing is allocated for a size that the request only claims: the data must match the shape.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.api.gateway.output_tensors import FP32, INPUT
from podium.api.http.float32_conversion import as_float32, first_inexact, inexact_message
from podium.sweep.values.errors import BadRequestError

BOOL = "BOOL"
FP16 = "FP16"
BF16 = "BF16"
_INTEGERS = {
    f"{prefix}INT{8 * size}": np.dtype(f"<{kind}{size}")
    for prefix, kind in (("", "i"), ("U", "u"))
    for size in (1, 2, 4, 8)
}
_LAYOUTS = {  # of the elements as bytes
    BOOL: np.dtype("u1"),
    **_INTEGERS,
    FP16: np.dtype("<f2"),
    BF16: np.dtype("<u2"),  # NumPy has no BF16: the upper two bytes of a float32
    FP32: np.dtype("<f4"),
    "FP64": np.dtype("<f8"),
}


def check_datatype(datatype: str) -> None:
    """Raises `BadRequestError` unless the datatype is numeric."""
    if datatype not in _LAYOUTS:
        raise BadRequestError(f"{INPUT}: datatype must be one of {', '.join(_LAYOUTS)}, not {reprlib.repr(datatype)}")


def rows_of(shape: Sequence[int], features: int) -> int:
    """The number of rows of a shape. Raises `BadRequestError` unless it is [rows, features] with at least one row."""
    if len(shape) != 2 or shape[0] < 1 or shape[1] != features:
        raise BadRequestError(
            f"{INPUT}: shape must be [rows, {features}] with at least one row, not {reprlib.repr(list(shape))}"
        )
    return shape[0]


def from_bytes(data: memoryview, datatype: str, rows: int, features: int) -> NDArray[np.float32]:
    """Raw elements as (rows, features); the result may share memory with `data`.

    Raises `BadRequestError` if their number is wrong, or float32 cannot represent one.
    """
    layout = _LAYOUTS[datatype]
    expected = rows * features * layout.itemsize
    if len(data) != expected:
        raise BadRequestError(
            f"{INPUT}: shape [{rows}, {features}] of {datatype} needs {expected:,} bytes, got {len(data):,}"
        )
    array = np.frombuffer(data, layout).reshape(rows, features)
    if datatype == BF16:
        array = (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
    elif datatype == BOOL:
        _reject_first(array > 1, array, f"is not a valid {BOOL}: expected a byte of 0 or 1")
    return _converted(array)


def from_json(data: object, datatype: str, rows: int, features: int) -> NDArray[np.float32]:
    """A list, flat or with one list per row, as (rows, features).

    Raises `BadRequestError` for an element that is not of the datatype, or that float32 cannot represent.
    """
    if datatype in (FP16, BF16):
        raise BadRequestError(f"{INPUT}: {datatype} cannot be sent as JSON; send binary data, or {FP32}")
    elements = _flat(data, features)
    if len(elements) != rows * features:
        raise BadRequestError(
            f"{INPUT}: shape [{rows}, {features}] needs {rows * features:,} elements, data has {len(elements):,}"
        )
    _check_types(elements, datatype)
    if datatype in _INTEGERS:
        _check_range(elements, datatype, features)
        array = np.array(elements, _INTEGERS[datatype])
    else:
        array = np.array(elements, np.float64)
    return _converted(array.reshape(rows, features))


def _check_types(elements: list[Any], datatype: str) -> None:
    """NumPy would convert "1" and true, and allocate the longest string's length for each string."""
    expected, allowed = ("a number", {float, int})
    if datatype in _INTEGERS:
        expected, allowed = "an integer", {int}
    elif datatype == BOOL:
        expected, allowed = "true or false", {bool}
    if not set(map(type, elements)) <= allowed:
        wrong = next(element for element in elements if type(element) not in allowed)
        raise BadRequestError(
            f"{INPUT}: data contains {reprlib.repr(wrong)}; each element of {datatype} must be {expected}"
        )


def _check_range(elements: list[int], datatype: str, features: int) -> None:
    limits = np.iinfo(_INTEGERS[datatype])
    lowest, highest = int(limits.min), int(limits.max)
    if min(elements) < lowest or max(elements) > highest:
        position = next(n for n, element in enumerate(elements) if not lowest <= element <= highest)
        row, column = divmod(position, features)
        raise BadRequestError(
            f"{INPUT}: {elements[position]} in row {row}, column {column} is out of range for {datatype}: "
            f"{lowest} to {highest}"
        )


def _flat(data: object, features: int) -> list[Any]:
    if not isinstance(data, list):
        raise BadRequestError(f"{INPUT}: data must be a list of numbers, or of rows of numbers")
    if not data or not isinstance(data[0], list):
        return data
    if set(map(type, data)) != {list} or set(map(len, data)) != {features}:
        raise BadRequestError(f"{INPUT}: each row of data must be a list of {features} numbers")
    return list(chain.from_iterable(data))


def _converted(array: NDArray[Any]) -> NDArray[np.float32]:
    """The rows as aligned float32. Raises `BadRequestError` for inexact integers and values that are not finite."""
    if (position := first_inexact(array)) is not None:
        row, column = divmod(position, array.shape[1])
        raise BadRequestError(f"{INPUT}: {inexact_message(array[row, column], row, column)}")
    rows = np.require(as_float32(array), np.float32, "A")
    _reject_first(~np.isfinite(rows), array, f"is not finite in {FP32}")
    return rows


def _reject_first(wrong: NDArray[np.bool_], array: NDArray[Any], why: str) -> None:
    """Raises `BadRequestError` for the first wrong element."""
    if wrong.any():
        row, column = divmod(int(np.argmax(wrong)), wrong.shape[1])
        raise BadRequestError(f"{INPUT}: the value {array[row, column]} in row {row}, column {column} {why}")
