"""The prediction requests and replies between gateway and workers: frames with a JSON header and raw arrays.

No pickles. Runs in the gateway and worker processes. A message carries several items: the requests that the gateway
sends in one turn of its event loop, with their rows in one array, or the replies to the requests that a worker computed
together. A reply carries the predictions of each member that the worker runs, in member order, and in-graph their
combination.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from podium.ensemble.values.finite_check import all_finite

MAX_ELEMENTS = 64 * 2**20
MAX_ITEMS = 4096  # in one message

Frames = list[bytes | memoryview]


class WireError(ValueError):
    """The frames are not a valid message."""


@dataclass(frozen=True, slots=True)
class Request:
    """Rows to predict. `left_ms` is the remaining time when it was sent, so that clocks need not be synchronized."""

    request_id: int
    epoch: int
    left_ms: float
    inputs: NDArray[np.float32]  # (rows, features)


@dataclass(slots=True)  # not frozen, which would double the cost of an instance
class Reply:
    """The reply to one request: status `ok` with predictions; `expired`, `refused` or `error` without."""

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
    all_finite: bool = False  # both arrays, checked for the whole message; False: not known


@dataclass(slots=True)  # not frozen, which would double the cost of an instance
class ReplyBundle:
    """The replies to requests that were computed together, or that ended with the same status and message."""

    epoch: int
    status: str
    request_ids: Sequence[int]
    rows: Sequence[int]  # of each request; 0 without predictions
    queue_ms: Sequence[float]
    compute_ms: float = 0.0
    message: str = ""
    failed: Mapping[str, str] = field(default_factory=dict)
    predictions: NDArray[np.float32] | None = None  # (members, sum of rows, outputs)
    combined: NDArray[np.float32] | None = None  # (sum of rows, outputs)

    def frames(self) -> Frames:
        arrays = [array for array in (self.predictions, self.combined) if array is not None]
        header = {name: getattr(self, name) for name in _REPLY_FIELDS}
        header["shapes"] = [array.shape for array in arrays]
        return [orjson.dumps(header), *(np.ascontiguousarray(array).data for array in arrays)]

    def replies(self) -> list[Reply]:
        """The reply to each request; its arrays are views.

        If the arrays do not have one row for each row of the requests, no reply has predictions.
        """
        predictions, combined, total = self.predictions, self.combined, sum(self.rows)
        if (predictions is not None and predictions.shape[1] != total) or (
            combined is not None and len(combined) != total
        ):
            predictions = combined = None
        finite = predictions is not None and all_finite(predictions)
        finite = finite and (combined is None or all_finite(combined))
        found, start = [], 0
        for request_id, rows, queue_ms in zip(self.request_ids, self.rows, self.queue_ms, strict=True):
            span = slice(start, start + rows)
            found.append(
                Reply(
                    request_id,
                    self.epoch,
                    self.status,
                    queue_ms,
                    self.compute_ms,
                    self.message,
                    self.failed,
                    None if predictions is None else predictions[:, span],
                    None if combined is None else combined[span],
                    finite,
                )
            )
            start += rows
        return found


_REPLY_FIELDS = ("epoch", "status", "request_ids", "rows", "queue_ms", "compute_ms", "message", "failed")


def pack_requests(requests: Sequence[Request], inputs: NDArray[np.float32] | None = None) -> Frames:
    """One message with all requests, which have the same epoch and number of features.

    `inputs` are their rows, if the caller has concatenated them already.
    """
    if inputs is None:
        inputs = concatenate([request.inputs for request in requests])
    header = {
        "epoch": requests[0].epoch,
        "request_ids": [request.request_id for request in requests],
        "left_ms": [request.left_ms for request in requests],
        "rows": [len(request.inputs) for request in requests],
        "features": inputs.shape[1],
    }
    return [orjson.dumps(header), np.ascontiguousarray(inputs).data]


def unpack_requests(frames: Sequence[bytes]) -> list[Request]:
    """The requests of a message; their inputs are views of one array. Raises `WireError`."""
    header = _header(frames, 2)
    try:
        epoch, ids, left_ms = header["epoch"], header["request_ids"], header["left_ms"]
        rows, features = header["rows"], header["features"]
    except KeyError as error:
        raise WireError(f"missing {error}") from error
    _check_type("epoch", epoch, _INTEGER)
    _check_list("request_ids", ids, _INTEGER)
    _check_list("left_ms", left_ms, _NUMBER)
    _check_list("rows", rows, _INTEGER)
    if not 0 < len(ids) == len(rows) == len(left_ms) <= MAX_ITEMS or min(rows) < 0:
        raise WireError(f"{len(ids)} request_ids, {len(rows)} rows and {len(left_ms)} left_ms")
    inputs = _array(frames[1], [sum(rows), features], 2)
    starts = accumulate(rows, initial=0)
    return [
        Request(request_id, epoch, left, inputs[start : start + count])
        for request_id, left, start, count in zip(ids, left_ms, starts, rows, strict=False)
    ]


def pack_reply(reply: Reply) -> Frames:
    """A message with one reply."""
    rows = 0 if reply.predictions is None else reply.predictions.shape[1]
    return ReplyBundle(
        reply.epoch,
        reply.status,
        [reply.request_id],
        [rows],
        [reply.queue_ms],
        reply.compute_ms,
        reply.message,
        reply.failed,
        reply.predictions,
        reply.combined,
    ).frames()


def unpack_replies(frames: Sequence[bytes]) -> ReplyBundle:
    """Raises `WireError`. The number of rows in the arrays is not checked: `ReplyBundle.replies` does."""
    header = _header(frames, None)
    try:
        shapes = header.pop("shapes")
        if not isinstance(shapes, list) or len(shapes) != len(frames) - 1 or len(shapes) > 2:
            raise WireError("number of shapes and frames differ")
        arrays = [_array(frame, shape, 3 - i) for i, (frame, shape) in enumerate(zip(frames[1:], shapes, strict=True))]
        predictions, combined = (*arrays, None, None)[:2]
        bundle = ReplyBundle(predictions=predictions, combined=combined, **header)
    except (KeyError, TypeError) as error:
        raise WireError(f"invalid reply: {error}") from error
    _check_type("epoch", bundle.epoch, _INTEGER)
    _check_type("status", bundle.status, _TEXT)
    _check_type("compute_ms", bundle.compute_ms, _NUMBER)
    _check_type("message", bundle.message, _TEXT)
    _check_type("failed", bundle.failed, _OBJECT)
    if not _TEXT.issuperset(map(type, bundle.failed.values())):
        raise WireError(f"invalid failed: {bundle.failed!r}")
    _check_list("request_ids", bundle.request_ids, _INTEGER)
    _check_list("rows", bundle.rows, _INTEGER)
    _check_list("queue_ms", bundle.queue_ms, _NUMBER)
    ids, rows = bundle.request_ids, bundle.rows
    if not 0 < len(ids) == len(rows) == len(bundle.queue_ms) <= MAX_ITEMS or min(rows) < 0:
        raise WireError(f"{len(ids)} request_ids, {len(rows)} rows and {len(bundle.queue_ms)} queue_ms")
    return bundle


def concatenate(arrays: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """The rows of all arrays, (rows, features); a single array is returned as it is."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


_INTEGER = frozenset({int})
_NUMBER = frozenset({int, float})
_TEXT = frozenset({str})
_OBJECT = frozenset({dict})


def _check_type(name: str, value: object, expected: frozenset[type]) -> None:
    if type(value) not in expected:
        raise WireError(f"invalid {name}: {value!r}")


def _check_list(name: str, values: object, expected: frozenset[type]) -> None:
    if type(values) is not list or not expected.issuperset(map(type, values)):
        raise WireError(f"invalid {name}: {values!r}")


def _header(frames: Sequence[bytes], count: int | None) -> dict[str, Any]:
    if not frames or (count is not None and len(frames) != count):
        raise WireError(f"unexpected number of frames: {len(frames)}")
    try:
        header = orjson.loads(frames[0])
    except orjson.JSONDecodeError as error:
        raise WireError(str(error)) from error
    if not isinstance(header, dict):
        raise WireError("the header is not an object")
    return header


def _array(frame: bytes, shape: Any, dimensions: int) -> NDArray[np.float32]:
    if not isinstance(shape, list) or len(shape) != dimensions or any(type(n) is not int or n < 0 for n in shape):
        raise WireError(f"invalid shape {shape}")
    elements = math.prod(shape)
    if elements > MAX_ELEMENTS or len(frame) != 4 * elements:
        raise WireError(f"{len(frame)} bytes for shape {shape}")
    return np.frombuffer(frame, dtype=np.float32).reshape(shape)
