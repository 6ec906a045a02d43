"""Tensors of the Open Inference Protocol: rows read from JSON or raw bytes, answers written as either; pure, gateway.

Raw bytes are little-endian, row-major, without padding (the protocol's binary tensor data extension). Nothing is ever
allocated for a size that is only claimed: a shape must be matched by what is there.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweep.errors import BadRequestError

INPUT = "INPUT"
FP32 = "FP32"
BYTES = "BYTES"
_FP32_BYTES = 4


@dataclass(frozen=True, slots=True)
class Tensor:
    """An output: FP32 with an array of its shape, or BYTES with one string for each row."""

    name: str
    shape: tuple[int, ...]
    values: NDArray[np.float32] | list[str]

    @property
    def datatype(self) -> str:
        return BYTES if isinstance(self.values, list) else FP32

    def as_json(self) -> list[str] | NDArray[np.float32]:
        """The elements in row-major order; orjson writes either."""
        return self.values if isinstance(self.values, list) else np.ascontiguousarray(self.values).reshape(-1)

    def as_bytes(self) -> bytes:
        """The elements as they are in memory; a string is its length in 4 bytes, then UTF-8."""
        if not isinstance(self.values, list):
            return self.values.astype("<f4").tobytes()
        written = {value: _counted(value.encode()) for value in set(self.values)}
        return b"".join(written[value] for value in self.values)


def _counted(text: bytes) -> bytes:
    return len(text).to_bytes(4, "little") + text


def rows_of(shape: Sequence[int], features: int) -> int:
    """How many rows a shape claims. Raises `BadRequestError` unless it is [rows, features] with at least one row."""
    if len(shape) != 2 or shape[0] < 1 or shape[1] != features:
        raise BadRequestError(
            f"{INPUT}: shape {reprlib.repr(list(shape))} is not [rows, {features}] with at least one row"
        )
    return shape[0]


def from_bytes(data: memoryview, rows: int, features: int) -> NDArray[np.float32]:
    """Raw FP32 as (rows, features). Raises `BadRequestError` when there are not exactly so many, or one is not finite.

    The array may share `data`.
    """
    wanted = rows * features * _FP32_BYTES
    if len(data) != wanted:
        raise BadRequestError(
            f"{INPUT}: shape [{rows}, {features}] of {FP32} is {wanted:,} bytes, and there are {len(data):,}"
        )
    array = np.frombuffer(data, "<f4").reshape(rows, features)
    return _finite(np.require(array, np.float32, "A"))


def from_json(data: object, rows: int, features: int) -> NDArray[np.float32]:
    """A list of numbers, flat or a list for each row, as (rows, features). Raises `BadRequestError`."""
    numbers = _flat(data, features)
    if len(numbers) != rows * features:
        raise BadRequestError(
            f"{INPUT}: shape [{rows}, {features}] is {rows * features:,} elements, and data has {len(numbers):,}"
        )
    # Types first: numpy would take "1" and true for numbers, and give each of many words the room of the longest.
    if not set(map(type, numbers)) <= {float, int}:
        wrong = next(value for value in numbers if type(value) not in (float, int))
        raise BadRequestError(f"{INPUT}: data has {reprlib.repr(wrong)}; every element must be a number")
    with np.errstate(over="ignore"):  # too large for float32 is infinite, and refused as such
        return _finite(np.array(numbers, np.float64).astype(np.float32).reshape(rows, features))


def _flat(data: object, features: int) -> list[Any]:
    if not isinstance(data, list):
        raise BadRequestError(f"{INPUT}: data must be a list of numbers, or of rows of numbers")
    if not data or not isinstance(data[0], list):
        return data
    if set(map(type, data)) != {list} or set(map(len, data)) != {features}:
        raise BadRequestError(f"{INPUT}: every row in data must be a list of {features} numbers")
    return list(chain.from_iterable(data))


def _finite(array: NDArray[np.float32]) -> NDArray[np.float32]:
    finite = np.isfinite(array)
    if not finite.all():
        row, column = divmod(int(np.argmin(finite)), array.shape[1])
        raise BadRequestError(
            f"{INPUT}: the value in row {row}, column {column} is not finite in {FP32}; every value must be"
        )
    return array
