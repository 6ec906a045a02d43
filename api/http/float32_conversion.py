"""Numbers of any type as float32, in which rows travel to the networks, and which of them float32 cannot hold.

Rounding is what float32 does to a measurement, and is accepted. An integer stands for itself (an id, a token), so one
that would become another is reported; api and gateway.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

EXACT_UP_TO = 2**24  # every integer up to here is exact in float32
_CHUNK = 1 << 18  # integers that are looked at together: each takes some 40 bytes meanwhile
NUMERIC_KINDS = "fiub"  # of numpy: floating-point, signed, unsigned, Boolean


def as_float32(array: NDArray[Any]) -> NDArray[np.float32]:
    """The array in float32, without a copy where it is; a value above the range becomes infinite."""
    with np.errstate(over="ignore"):
        return array.astype(np.float32, copy=False)


def first_inexact(array: NDArray[Any]) -> int | None:
    """The position, row by row, of the first integer that float32 would change; None where there is none."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize <= 2 or array.size == 0:
        return None
    if array.min() >= -EXACT_UP_TO and array.max() <= EXACT_UP_TO:
        return None
    values = array.reshape(-1)
    for start in range(0, len(values), _CHUNK):
        inexact = _inexact(values[start : start + _CHUNK])
        if inexact.any():
            return start + int(np.argmax(inexact))
    return None


def _inexact(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Exact are those with fewer than 25 bits from their highest to their lowest one."""
    unsigned = values.astype(np.uint64)
    magnitude = np.where(values < 0, np.negative(unsigned), unsigned)  # modulo 2^64, so the lowest int64 is right too
    lowest_bit = magnitude & np.negative(magnitude)
    # The shift must not leave the 64 bits; from 2^40 on, too few bits are left to be inexact.
    found: NDArray[np.bool_] = (lowest_bit < 2**40) & (magnitude >= np.maximum(lowest_bit, 1) << np.uint64(24))
    return found


def inexact_sentence(value: object, row: int, column: int) -> str:
    """Why it is refused, and what to send."""
    return (
        f"{value} in row {row}, column {column} is not exact in FP32, the type of rows here: integers above "
        f"{EXACT_UP_TO:,} may be rounded to another; send floating-point numbers if a rounded value will do"
    )
