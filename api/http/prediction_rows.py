"""Rows to predict as clients send them, JSON or numpy's format, checked before a member sees them; api and gateway."""

from __future__ import annotations

import io
import itertools
import math
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from podium.api.http.float32_conversion import NUMERIC_KINDS, as_float32, first_inexact, inexact_sentence
from podium.sweep.values.errors import BadRequestError, EnsembleError


def rows_of(value: Any, what: str = "inputs") -> NDArray[np.float32]:
    """A list of lists of numbers as an array. Raises `EnsembleError` when it is none.

    Looked through before numpy sees it: of one long text among short ones it would make an array of long ones.
    """
    rows = value if isinstance(value, list) else None
    if rows is None or not all(isinstance(row, list) for row in rows) or len(set(map(len, rows))) > 1:
        raise EnsembleError(f"{what}: rows of numbers, all of the same length")
    if not set(map(type, itertools.chain.from_iterable(rows))) <= {int, float}:
        raise EnsembleError(f"{what}: rows of numbers alone: no text, no truth values, no holes, nothing deeper")
    return _as_floats(np.asarray(rows, dtype=np.float64).reshape(len(rows), -1 if rows else 0), what)


def rows_of_npy(content: bytes) -> NDArray[np.float32]:
    """The array of a body in numpy's format; what its header claims is believed only if the bytes are there.

    Raises `BadRequestError`.
    """
    stream = io.BytesIO(content)
    try:
        version = npy.read_magic(stream)
        read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, in_columns, kind = read_header(stream)
        data = memoryview(content)[stream.tell() :]
        if kind.hasobject or math.prod(shape) * kind.itemsize != len(data):
            raise ValueError(f"{len(data):,} bytes are not shape {shape} of {kind}")
        array = np.frombuffer(data, kind).reshape(shape, order="F" if in_columns else "C")
    except Exception as error:  # the header is Python text, and numpy's reader of it may raise anything
        raise BadRequestError(f"the body is not an array in numpy's format: {error}") from error
    return _as_floats(array, "inputs")


def check_rows(inputs: NDArray[np.float32], features: int) -> None:
    """Raises `EnsembleError` unless it is (rows, features), with at least one row, all finite."""
    if inputs.ndim != 2 or inputs.shape[1] != features or not len(inputs):
        raise EnsembleError(f"inputs: {list(inputs.shape)} is not [rows, {features}] with at least one row")
    if not np.isfinite(inputs).all():
        raise EnsembleError("inputs: every value must be finite")


def _as_floats(array: NDArray[Any], what: str) -> NDArray[np.float32]:
    if array.dtype.kind not in NUMERIC_KINDS:
        raise EnsembleError(f"{what}: rows of numbers, all of the same length, not {array.dtype}")
    if array.ndim == 2 and (position := first_inexact(array)) is not None:
        row, column = divmod(position, array.shape[1])
        raise EnsembleError(f"{what}: {inexact_sentence(array[row, column], row, column)}")
    return as_float32(array)  # too large for float32 is infinite, and refused as such
