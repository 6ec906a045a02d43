"""The messages between gateway and workers: a JSON header and raw arrays in ZeroMQ frames, no pickles.

Runs in the gateway and worker processes. A request carries rows; a reply carries the predictions of each member that
the worker runs, in member order, and in-graph their combination.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

MAX_ELEMENTS = 64 * 2**20


class WireError(ValueError):
    """The frames are not a valid message."""


@dataclass(frozen=True, slots=True)
class Request:
    """Rows to predict. `left_ms` is the remaining time when it was sent, so that clocks need not be synchronized."""

    request_id: int
    epoch: int
    left_ms: float
    inputs: NDArray[np.float32]  # (rows, features)

    def frames(self) -> list[bytes | memoryview]:
        header = {
            "request_id": self.request_id,
            "epoch": self.epoch,
            "left_ms": self.left_ms,
            "shape": self.inputs.shape,
        }
        return [orjson.dumps(header), np.ascontiguousarray(self.inputs).data]

    @classmethod
    def parse(cls, frames: list[bytes]) -> Request:
        """Raises `WireError`."""
        header = _header(frames, 2)
        try:
            inputs = _array(frames[1], header.pop("shape"), 2)
            request = cls(inputs=inputs, **header)
        except (KeyError, TypeError) as error:
            raise WireError(f"invalid request: {error}") from error
        _check_types(request, request_id=int, epoch=int, left_ms=(int, float))
        return request


@dataclass(frozen=True, slots=True)
class Reply:
    """A worker's reply: status `ok` with predictions; `expired`, `refused` or `error` without."""

    request_id: int
    epoch: int
    status: str
    queue_ms: float = 0.0
    compute_ms: float = 0.0
    message: str = ""
    failed: Mapping[str, str] = field(
        default_factory=dict
    )  # position among the worker's members -> error; its predictions are NaN
    predictions: NDArray[np.float32] | None = None  # (members, rows, outputs)
    combined: NDArray[np.float32] | None = None  # (rows, outputs), in-graph only

    def frames(self) -> list[bytes | memoryview]:
        arrays = [array for array in (self.predictions, self.combined) if array is not None]
        header = {name: value for name, value in _plain(self).items() if name not in ("predictions", "combined")}
        header["shapes"] = [array.shape for array in arrays]
        return [orjson.dumps(header), *(np.ascontiguousarray(array).data for array in arrays)]

    @classmethod
    def parse(cls, frames: list[bytes]) -> Reply:
        """Raises `WireError`."""
        header = _header(frames, None)
        try:
            shapes = header.pop("shapes")
            if len(shapes) != len(frames) - 1 or len(shapes) > 2:
                raise WireError("number of shapes and frames differ")
            arrays = [
                _array(frame, shape, 3 - i) for i, (frame, shape) in enumerate(zip(frames[1:], shapes, strict=True))
            ]
            predictions, combined = (*arrays, None, None)[:2]
            reply = cls(predictions=predictions, combined=combined, **header)
        except (KeyError, TypeError) as error:
            raise WireError(f"invalid reply: {error}") from error
        number = (int, float)
        _check_types(
            reply, request_id=int, epoch=int, status=str, queue_ms=number, compute_ms=number, message=str, failed=dict
        )
        if not all(isinstance(why, str) for why in reply.failed.values()):
            raise WireError(f"invalid failed: {reply.failed!r}")
        return reply


def _plain(reply: Reply) -> dict[str, Any]:
    return {name: getattr(reply, name) for name in reply.__dataclass_fields__}


def _check_types(parsed: Request | Reply, /, **types: type | tuple[type, ...]) -> None:
    """Check field types, which dataclasses do not."""
    for name, expected in types.items():
        value = getattr(parsed, name)
        if not isinstance(value, expected) or isinstance(value, bool):
            raise WireError(f"invalid {name}: {value!r}")


def _header(frames: list[bytes], count: int | None) -> dict[str, Any]:
    if not frames or (count is not None and len(frames) != count):
        raise WireError(f"unexpected number of frames: {len(frames)}")
    try:
        header = orjson.loads(frames[0])
    except orjson.JSONDecodeError as error:
        raise WireError(str(error)) from error
    if not isinstance(header, dict):
        raise WireError("the header is not an object")
    return header


def _array(frame: bytes, shape: list[int], dimensions: int) -> NDArray[np.float32]:
    if len(shape) != dimensions or any(not isinstance(n, int) or n < 0 for n in shape):
        raise WireError(f"invalid shape {shape}")
    elements = math.prod(shape)
    if elements > MAX_ELEMENTS or len(frame) != 4 * elements:
        raise WireError(f"{len(frame)} bytes for shape {shape}")
    return np.frombuffer(frame, dtype=np.float32).reshape(shape)
