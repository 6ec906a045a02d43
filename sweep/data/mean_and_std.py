"""Computes mean and standard deviation of large arrays in chunks; trial processes and ensemble host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK_BYTES = 4 << 20


def mean_and_std(values: NDArray[Any], rows: NDArray[np.int64], *, by_column: bool) -> NDArray[np.float64]:
    """Mean and standard deviation of these rows, over all values (2,) or by column (2, columns).

    A standard deviation of 0 is replaced by 1.

    Chunks are combined as in Chan, Golub and LeVeque 1979, "Updating formulae and a pairwise algorithm for
    computing sample variances", equation 2.1.
    """
    axis = 0 if by_column else None
    count, mean, squares = 0, np.float64(0), np.float64(0)
    for piece in chunks(values, rows):
        more = len(piece) if by_column else piece.size
        delta = piece.mean(axis=axis, dtype=np.float64) - mean
        squares = squares + piece.var(axis=axis, dtype=np.float64) * more + delta**2 * (count * more / (count + more))
        mean = mean + delta * (more / (count + more))
        count += more
    deviation = np.sqrt(squares / count)
    return np.array([mean, np.where(deviation == 0, 1.0, deviation)])


def chunks(values: NDArray[Any], rows: NDArray[np.int64]) -> Iterator[NDArray[Any]]:
    """The rows in chunks: `values` may be memory-mapped and larger than memory."""
    row_bytes = values.dtype.itemsize * int(np.prod(values.shape[1:]))
    step = max(1, CHUNK_BYTES // row_bytes)
    for start in range(0, len(rows), step):
        yield values[rows[start : start + step]]
