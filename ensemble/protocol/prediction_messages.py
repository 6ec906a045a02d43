"""The prediction requests and replies between gateway and workers: frames with a JSON header and raw arrays.

No pickles. Runs in the gateway and worker processes. A message carries several items: the requests that the gateway
sends in one turn of its event loop, with their rows in one array, or the replies to the requests that a worker computed
together. A reply carries the predictions of each member that the worker runs, in member order, and in-graph their
combination.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Annotated, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.ensemble.values.finite_check import all_finite

MAX_ELEMENTS = 64 * 2**20
MAX_ITEMS = 4096  # in one message

Frames = list[bytes | memoryview]


class WireError(ValueError):
    """The frames are not a valid message."""


class Request(msgspec.Struct, frozen=True, eq=False):
    """Rows to predict. `left_ms` is the remaining time when it was sent, so that clocks need not be synchronized."""

    request_id: int
    epoch: int
    left_ms: float
    inputs: NDArray[np.float32]  # (rows, features)


class Reply(msgspec.Struct, frozen=True, eq=False):
    """The reply to one request: status `ok` with predictions; `expired`, `refused` or `error` without."""

    request_id: int
    epoch: int
    status: str
    queue_ms: float = 0.0
    compute_ms: float = 0.0
    message: str = ""
    failed: Mapping[str, str] = {}  # position among the worker's members -> error; its predictions are NaN
    predictions: NDArray[np.float32] | None = None  # (members, rows, outputs)
    combined: NDArray[np.float32] | None = None  # (rows, outputs), in-graph only
    all_finite: bool = False  # both arrays, checked for the whole message; False: not known


class ReplyBundle(msgspec.Struct, frozen=True, eq=False):
    """The replies to requests that were computed together, or that ended with the same status and message."""

    epoch: int
    status: str
    request_ids: Sequence[int]
    rows: Sequence[int]  # of each request; 0 without predictions
    queue_ms: Sequence[float]
    compute_ms: float = 0.0
    message: str = ""
    failed: Mapping[str, str] = {}
    predictions: NDArray[np.float32] | None = None  # (members, sum of rows, outputs)
    combined: NDArray[np.float32] | None = None  # (sum of rows, outputs)

    def frames(self) -> Frames:
        arrays = [array for array in (self.predictions, self.combined) if array is not None]
        header = _ReplyHeader(
            self.epoch,
            self.status,
            self.request_ids,
            self.rows,
            self.queue_ms,
            [array.shape for array in arrays],
            self.compute_ms,
            self.message,
            self.failed,
        )
        return [_encode(header), *(np.ascontiguousarray(array).data for array in arrays)]

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
        if len(self.request_ids) == 1:
            return [self._reply(0, predictions, combined, all_finite=finite)]
        found, start = [], 0
        for position, rows in enumerate(self.rows):
            span = slice(start, start + rows)
            mine = None if predictions is None else predictions[:, span]
            mine_combined = None if combined is None else combined[span]
            found.append(self._reply(position, mine, mine_combined, all_finite=finite))
            start += rows
        return found

    def _reply(
        self,
        position: int,
        predictions: NDArray[np.float32] | None,
        combined: NDArray[np.float32] | None,
        *,
        all_finite: bool,
    ) -> Reply:
        return Reply(
            self.request_ids[position],
            self.epoch,
            self.status,
            self.queue_ms[position],
            self.compute_ms,
            self.message,
            self.failed,
            predictions,
            combined,
            all_finite,
        )


_Integer = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_ELEMENTS)]


class _RequestHeader(msgspec.Struct, forbid_unknown_fields=True):
    """The first frame of requests."""

    epoch: _Integer
    request_ids: Sequence[_Integer]
    left_ms: Sequence[float]
    rows: Sequence[_Count]
    features: _Count


class _ReplyHeader(msgspec.Struct, forbid_unknown_fields=True):
    """The first frame of replies."""

    epoch: _Integer
    status: str
    request_ids: Sequence[_Integer]
    rows: Sequence[_Count]
    queue_ms: Sequence[float]
    shapes: Sequence[Sequence[_Count]]  # of the arrays in the other frames
    compute_ms: float = 0.0
    message: str = ""
    failed: Mapping[str, str] = {}


_encode = msgspec.json.Encoder().encode
_REQUESTS = msgspec.json.Decoder(_RequestHeader)
_REPLIES = msgspec.json.Decoder(_ReplyHeader)


def pack_requests(requests: Sequence[Request], inputs: NDArray[np.float32] | None = None) -> Frames:
    """One message with all requests, which have the same epoch and number of features.

    `inputs` are their rows, if the caller has concatenated them already.
    """
    if inputs is None:
        inputs = concatenate([request.inputs for request in requests])
    header = _RequestHeader(
        epoch=requests[0].epoch,
        request_ids=[request.request_id for request in requests],
        left_ms=[request.left_ms for request in requests],
        rows=[len(request.inputs) for request in requests],
        features=inputs.shape[1],
    )
    return [_encode(header), np.ascontiguousarray(inputs).data]


def unpack_requests(frames: Sequence[bytes]) -> list[Request]:
    """The requests of a message; their inputs are views of one array. Raises `WireError`."""
    if len(frames) != 2:
        raise WireError(f"unexpected number of frames: {len(frames)}")
    header = _decode(_REQUESTS, frames[0])
    ids, left_ms, rows = header.request_ids, header.left_ms, header.rows
    if not 0 < len(ids) == len(rows) == len(left_ms) <= MAX_ITEMS:
        raise WireError(f"{len(ids)} request_ids, {len(rows)} rows and {len(left_ms)} left_ms")
    inputs = _array(frames[1], (sum(rows), header.features))
    starts = accumulate(rows, initial=0)
    return [
        Request(request_id, header.epoch, left, inputs[start : start + count])
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
    if not frames:
        raise WireError("a message without frames")
    header = _decode(_REPLIES, frames[0])
    shapes, dimensions = header.shapes, [len(shape) for shape in header.shapes]
    if len(shapes) != len(frames) - 1 or dimensions != [3, 2][: len(dimensions)]:
        raise WireError(f"{len(frames) - 1} arrays with shapes {shapes}")
    ids, rows, queue_ms = header.request_ids, header.rows, header.queue_ms
    if not 0 < len(ids) == len(rows) == len(queue_ms) <= MAX_ITEMS:
        raise WireError(f"{len(ids)} request_ids, {len(rows)} rows and {len(queue_ms)} queue_ms")
    arrays = [_array(frame, shape) for frame, shape in zip(frames[1:], shapes, strict=True)]
    predictions, combined = (*arrays, None, None)[:2]
    return ReplyBundle(
        header.epoch,
        header.status,
        ids,
        rows,
        queue_ms,
        header.compute_ms,
        header.message,
        header.failed,
        predictions,
        combined,
    )


def concatenate(arrays: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """The rows of all arrays, (rows, features); a single array is returned as it is."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


_Header = TypeVar("_Header")


def _decode(decoder: msgspec.json.Decoder[_Header], frame: bytes) -> _Header:
    try:
        return decoder.decode(frame)
    except msgspec.MsgspecError as error:
        raise WireError(str(error)) from error


def _array(frame: bytes, shape: Sequence[int]) -> NDArray[np.float32]:
    elements = math.prod(shape)
    if elements > MAX_ELEMENTS or len(frame) != 4 * elements:
        raise WireError(f"{len(frame)} bytes for shape {shape}")
    return np.frombuffer(frame, dtype=np.float32).reshape(shape)
