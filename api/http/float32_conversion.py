"""Converts input rows to float32 and finds integers that float32 cannot represent; api and gateway.

Rounding a floating-point measurement is accepted. An integer may be an id or a token, so an integer that float32 would
change is an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

EXACT_UP_TO = 2**24  # every integer up to here is exact in float32
CHUNK = 1 << 18  # integers checked at once; each needs about 40 bytes
NUMERIC_KINDS = "fiub"  # of NumPy: floating-point, signed, unsigned, Boolean


def as_float32(array: NDArray[Any]) -> NDArray[np.float32]:
    """The array as float32, copied only if needed; values out of range become infinite."""
    with np.errstate(over="ignore"):
        return array.astype(np.float32, copy=False)


def first_inexact(array: NDArray[Any]) -> int | None:
    """The row-major position of the first integer that float32 cannot represent; None if there is none."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize <= 2 or array.size == 0:
        return None
    if array.min() >= -EXACT_UP_TO and array.max() <= EXACT_UP_TO:
        return None
    values = array.reshape(-1)
    for start in range(0, len(values), CHUNK):
        inexact = _inexact(values[start : start + CHUNK])
        if inexact.any():
            return start + int(np.argmax(inexact))
    return None


def _inexact(values: NDArray[Any]) -> NDArray[np.bool_]:
    """An integer is exact if its highest and lowest set bit are less than 24 places apart."""
    unsigned = values.astype(np.uint64)
    magnitude = np.where(
        values < 0, np.negative(unsigned), unsigned
    )  # modulo 2^64, so that the lowest int64 is handled
    lowest_bit = magnitude & np.negative(magnitude)
    # The shift must not overflow 64 bits; from 2^40 on, too few bits remain to be inexact.
    found: NDArray[np.bool_] = (lowest_bit < 2**40) & (magnitude >= np.maximum(lowest_bit, 1) << np.uint64(24))
    return found


def inexact_message(value: object, row: int, column: int) -> str:
    """The error message for such an integer."""
    return (
        f"{value} in row {row}, column {column} is not exact in FP32, the datatype of inputs: integers above "
        f"{EXACT_UP_TO:,} may be rounded; send floating-point numbers if rounding is acceptable"
    )
