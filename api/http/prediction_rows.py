"""Parses and checks input rows, from JSON or NumPy's .npy format; api and gateway."""

from __future__ import annotations

import io
import itertools
import math
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from podium.api.http.float32_conversion import NUMERIC_KINDS, as_float32, first_inexact, inexact_message
from podium.ensemble.values.finite_check import all_finite
from podium.sweep.values.errors import BadRequestError, EnsembleError


def rows_of(value: Any, what: str = "inputs") -> NDArray[np.float32]:
    """A list of lists of numbers as an array. Raises `EnsembleError` for anything else.

    Types are checked before NumPy reads the rows: one long string would make it allocate that length for each element.
    """
    rows = value if isinstance(value, list) else None
    if rows is None or not all(isinstance(row, list) for row in rows) or len(set(map(len, rows))) > 1:
        raise EnsembleError(f"{what}: must be a list of rows of numbers, all of the same length")
    if not set(map(type, itertools.chain.from_iterable(rows))) <= {int, float}:
        raise EnsembleError(f"{what}: elements must be numbers, not strings, Booleans, null or nested lists")
    return _as_floats(np.asarray(rows, dtype=np.float64).reshape(len(rows), -1 if rows else 0), what)


def rows_of_npy(content: bytes) -> NDArray[np.float32]:
    """The array in a .npy body. Raises `BadRequestError` if the body does not have the size that its header claims."""
    stream = io.BytesIO(content)
    try:
        version = npy.read_magic(stream)
        read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, in_columns, kind = read_header(stream)
        data = memoryview(content)[stream.tell() :]
        if kind.hasobject or math.prod(shape) * kind.itemsize != len(data):
            raise ValueError(f"{len(data):,} bytes do not match shape {shape} of {kind}")
        array = np.frombuffer(data, kind).reshape(shape, order="F" if in_columns else "C")
    except Exception as error:  # NumPy parses the header as Python source and may raise anything
        raise BadRequestError(f"invalid .npy body: {error}") from error
    return _as_floats(array, "inputs")


def check_rows(inputs: NDArray[np.float32], features: int) -> None:
    """Raises `EnsembleError` unless the shape is (rows, features) with at least one row, and all values are finite."""
    if inputs.ndim != 2 or inputs.shape[1] != features or not len(inputs):
        raise EnsembleError(f"inputs: shape must be [rows, {features}] with at least one row, not {list(inputs.shape)}")
    if not all_finite(inputs):
        raise EnsembleError("inputs: all values must be finite")


def _as_floats(array: NDArray[Any], what: str) -> NDArray[np.float32]:
    if array.dtype.kind not in NUMERIC_KINDS:
        raise EnsembleError(f"{what}: unsupported dtype {array.dtype}; send numbers")
    if array.ndim == 2 and (position := first_inexact(array)) is not None:
        row, column = divmod(position, array.shape[1])
        raise EnsembleError(f"{what}: {inexact_message(array[row, column], row, column)}")
    return as_float32(array)  # values out of range become infinite; `check_rows` rejects them
