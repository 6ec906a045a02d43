"""Serializes output tensors of the Open Inference Protocol as JSON or raw bytes; no I/O, gateway.

Raw bytes are little-endian, row-major, without padding (the protocol's binary tensor data extension).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

INPUT = "INPUT"
FP32 = "FP32"
BYTES = "BYTES"


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
        """The elements in row-major order, for orjson."""
        return self.values if isinstance(self.values, list) else np.ascontiguousarray(self.values).reshape(-1)

    def as_bytes(self) -> bytes:
        """The elements as raw bytes; a string is its length in 4 bytes, then UTF-8."""
        if not isinstance(self.values, list):
            return self.values.astype("<f4").tobytes()
        written = {value: _length_prefixed(value.encode()) for value in set(self.values)}
        return b"".join(written[value] for value in self.values)


def _length_prefixed(text: bytes) -> bytes:
    return len(text).to_bytes(4, "little") + text
