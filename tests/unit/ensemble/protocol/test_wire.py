"""The wire format: a message is decoded exactly as sent, and anything else raises only WireError."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from podium.ensemble.protocol.wire import MAX_ELEMENTS, Reply, Request, WireError

ids = st.integers(0, 2**63 - 1)
times = st.floats(0, 1e9)
floats = st.floats(width=32)  # NaN and infinity are valid here: the aggregator checks them


def _array(*dimensions: st.SearchStrategy[int]) -> st.SearchStrategy[NDArray[np.float32]]:
    return st.tuples(*dimensions).flatmap(lambda shape: arrays.arrays(np.float32, shape, elements=floats))


small = st.integers(0, 4)
requests = st.builds(Request, ids, st.integers(0, 2**31), times, _array(small, small))


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    predictions = draw(st.none() | _array(small, small, small))
    combined = None if predictions is None else draw(st.none() | _array(small, small))
    failed = draw(st.dictionaries(st.integers(0, 9).map(str), st.text(), max_size=3))
    return Reply(
        draw(ids),
        draw(small),
        draw(st.text()),
        draw(times),
        draw(times),
        draw(st.text()),
        failed,
        predictions,
        combined,
    )


def _sent(message: Request | Reply) -> list[bytes]:
    return [bytes(frame) for frame in message.frames()]


def _same(one: NDArray[np.float32] | None, other: NDArray[np.float32] | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()


@given(requests)
def test_request_is_decoded_as_sent(request: Request) -> None:
    back = Request.parse(_sent(request))
    assert (back.request_id, back.epoch, back.left_ms) == (request.request_id, request.epoch, request.left_ms)
    assert _same(back.inputs, request.inputs)


@given(replies())
def test_reply_is_decoded_as_sent(reply: Reply) -> None:
    back = Reply.parse(_sent(reply))
    for name in ("request_id", "epoch", "status", "queue_ms", "compute_ms", "message", "failed"):
        assert getattr(back, name) == getattr(reply, name)
    assert _same(back.predictions, reply.predictions)
    assert _same(back.combined, reply.combined)


def test_noncontiguous_array_is_sent_in_logical_order() -> None:
    inputs = np.arange(6, dtype=np.float32).reshape(2, 3).T
    np.testing.assert_array_equal(Request.parse(_sent(Request(1, 1, 5.0, inputs))).inputs, inputs)


@st.composite
def mutations(draw: st.DrawFn) -> tuple[type[Request] | type[Reply], list[bytes]]:
    """Frames of a valid message with something truncated, changed, added or removed."""
    message = draw(st.one_of(requests, replies()))
    frames = _sent(message)
    index = draw(st.integers(0, len(frames) - 1))
    kind = draw(st.sampled_from(["cut", "flip", "drop", "add", "longer", "swap"]))
    if kind == "cut" and frames[index]:
        frames[index] = frames[index][: draw(st.integers(0, len(frames[index]) - 1))]
    elif kind == "flip" and frames[index]:
        content = bytearray(frames[index])
        content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
        frames[index] = bytes(content)
    elif kind == "drop":
        del frames[index]
    elif kind == "add":
        frames.insert(index, draw(st.binary(max_size=8)))
    elif kind == "longer":
        frames[index] += draw(st.binary(min_size=1, max_size=8))
    else:
        frames.reverse()
    return draw(st.sampled_from([Request, Reply])), frames


@given(mutations())
def test_changed_frames_are_a_message_or_a_wire_error(garbled: tuple[type[Request] | type[Reply], list[bytes]]) -> None:
    kind, frames = garbled
    try:
        message = kind.parse(frames)
    except WireError:
        return
    assert isinstance(message.request_id, int)
    assert isinstance(message.epoch, int)


@given(requests | replies(), st.data())
def test_every_truncation_is_a_wire_error(message: Request | Reply, data: st.DataObject) -> None:
    frames = _sent(message)
    lengths = {index: len(frame) for index, frame in enumerate(frames) if frame}
    index = data.draw(st.sampled_from(sorted(lengths)))
    frames[index] = frames[index][: data.draw(st.integers(0, lengths[index] - 1))]
    with pytest.raises(WireError):
        type(message).parse(frames)


@given(st.lists(st.binary(max_size=40), max_size=4), st.sampled_from([Request, Reply]))
def test_random_bytes_are_a_wire_error(frames: list[bytes], kind: type[Request] | type[Reply]) -> None:
    with pytest.raises(WireError):
        kind.parse(frames)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(["request_id", "epoch", "left_ms", "shape"]), json_values)
def test_request_field_of_another_type_is_a_wire_error(name: str, value: object) -> None:
    header = {"request_id": 1, "epoch": 1, "left_ms": 1.5, "shape": [1, 1], name: value}
    frames = [json.dumps(header).encode(errors="replace"), b"\0" * 4]
    try:
        request = Request.parse(frames)
    except WireError:
        return
    assert type(request.request_id) is type(request.epoch) is int
    assert type(request.left_ms) in (int, float)


@pytest.mark.parametrize(
    "wrong",
    [
        {"request_id": [1]},
        {"request_id": True},
        {"epoch": "1"},
        {"epoch": None},
        {"status": 5},
        {"message": ["x"]},
        {"queue_ms": "1"},
        {"compute_ms": None},
        {"failed": None},
        {"failed": ["out of memory"]},
        {"failed": {"0": 5}},
        {"shapes": None},
        {"shapes": "ab"},
        {"shapes": [[1, 1]]},
        {"more": 1},
    ],
    ids=str,
)
def test_reply_field_of_another_type_is_a_wire_error(wrong: dict[str, Any]) -> None:
    header = {"request_id": 1, "epoch": 1, "status": "ok", "shapes": [[1, 1, 1]], **wrong}
    with pytest.raises(WireError):
        Reply.parse([json.dumps(header).encode(), b"\0" * 4])


@pytest.mark.parametrize(
    "shape",
    [[MAX_ELEMENTS + 1, 1], [2**62, 2**62], [10**30, 0], [-1, -1], [1.0, 1], [1], [1, 1, 1], "11", {"0": 1, "1": 1}, 1],
    ids=str,
)
def test_shape_without_its_bytes_is_a_wire_error(shape: object) -> None:
    header = json.dumps({"request_id": 1, "epoch": 1, "left_ms": 1.0, "shape": shape}).encode()
    with pytest.raises(WireError):
        Request.parse([header, b"\0" * 4])


def test_reply_has_at_most_predictions_and_their_combination() -> None:
    header = {"request_id": 1, "epoch": 1, "status": "ok", "shapes": [[1, 1, 1], [1, 1], [1]]}
    with pytest.raises(WireError):
        Reply.parse([json.dumps(header).encode(), *[b"\0" * 4] * 3])
