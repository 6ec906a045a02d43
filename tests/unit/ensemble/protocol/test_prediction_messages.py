"""The wire format: a message is decoded exactly as sent, and anything else raises only WireError."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from podium.ensemble.protocol.prediction_messages import (
    MAX_ELEMENTS,
    MAX_ITEMS,
    Frames,
    Reply,
    ReplyBundle,
    Request,
    WireError,
    pack_reply,
    pack_requests,
    unpack_replies,
    unpack_requests,
)

ids = st.integers(0, 2**63 - 1)
times = st.floats(0, 1e9)
floats = st.floats(width=32)  # NaN and infinity are valid here: the aggregator checks them
small = st.integers(0, 4)
Unpack = Callable[[list[bytes]], object]


def _array(*shape: int) -> st.SearchStrategy[NDArray[np.float32]]:
    return arrays.arrays(np.float32, shape, elements=floats)


@st.composite
def requests(draw: st.DrawFn) -> list[Request]:
    """The requests of one message."""
    epoch, features = draw(st.integers(0, 2**31)), draw(small)
    return [
        Request(draw(ids), epoch, draw(times), draw(_array(draw(small), features)))
        for _ in range(draw(st.integers(1, 4)))
    ]


@st.composite
def replies(draw: st.DrawFn) -> ReplyBundle:
    """The replies of one message."""
    rows = draw(st.lists(small, min_size=1, max_size=4))
    predictions = draw(st.none() | _array(draw(small), sum(rows), draw(small)))
    combined = None if predictions is None else draw(st.none() | _array(sum(rows), draw(small)))
    return ReplyBundle(
        epoch=draw(small),
        status=draw(st.text()),
        request_ids=[draw(ids) for _ in rows],
        rows=rows,
        queue_ms=[draw(times) for _ in rows],
        compute_ms=draw(times),
        message=draw(st.text()),
        failed=draw(st.dictionaries(st.integers(0, 9).map(str), st.text(), max_size=3)),
        predictions=predictions,
        combined=combined,
    )


def _sent(frames: Frames) -> list[bytes]:
    return [bytes(frame) for frame in frames]


def _same(one: NDArray[np.float32] | None, other: NDArray[np.float32] | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()


@given(requests())
def test_requests_are_decoded_as_sent(sent: list[Request]) -> None:
    found = unpack_requests(_sent(pack_requests(sent)))
    assert len(found) == len(sent)
    for back, request in zip(found, sent, strict=True):
        assert (back.request_id, back.epoch, back.left_ms) == (request.request_id, request.epoch, request.left_ms)
        assert _same(back.inputs, request.inputs)


@given(replies())
def test_replies_are_decoded_as_sent(sent: ReplyBundle) -> None:
    found = unpack_replies(_sent(sent.frames()))
    for name in ("epoch", "status", "request_ids", "rows", "queue_ms", "compute_ms", "message", "failed"):
        assert getattr(found, name) == getattr(sent, name)
    assert _same(found.predictions, sent.predictions)
    assert _same(found.combined, sent.combined)


@given(replies())
def test_each_reply_has_its_own_rows(bundle: ReplyBundle) -> None:
    start = 0
    for reply, request_id, rows, queue_ms in zip(
        bundle.replies(), bundle.request_ids, bundle.rows, bundle.queue_ms, strict=True
    ):
        assert (reply.request_id, reply.queue_ms, reply.failed) == (request_id, queue_ms, bundle.failed)
        if bundle.predictions is None:
            assert reply.predictions is None
        else:
            assert _same(reply.predictions, bundle.predictions[:, start : start + rows])
            assert not reply.all_finite or np.isfinite(bundle.predictions).all()
        if bundle.combined is not None:
            assert _same(reply.combined, bundle.combined[start : start + rows])
            assert not reply.all_finite or np.isfinite(bundle.combined).all()
        start += rows


@pytest.mark.parametrize("rows", [[1, 1], [2, 2]], ids=str)
def test_replies_whose_rows_do_not_match_have_no_predictions(rows: list[int]) -> None:
    bundle = ReplyBundle(1, "ok", [5, 6], rows, [0.0, 0.0], predictions=np.zeros((1, 3, 2), np.float32))
    assert [reply.predictions for reply in bundle.replies()] == [None, None]


def test_one_reply_is_a_message_of_one() -> None:
    reply = Reply(7, 2, "ok", 1.5, 2.5, predictions=np.ones((1, 3, 2), np.float32))
    (back,) = unpack_replies(_sent(pack_reply(reply))).replies()
    assert (back.request_id, back.epoch, back.status, back.queue_ms, back.compute_ms) == (7, 2, "ok", 1.5, 2.5)
    assert _same(back.predictions, reply.predictions)


def test_noncontiguous_array_is_sent_in_logical_order() -> None:
    inputs = np.arange(6, dtype=np.float32).reshape(2, 3).T
    (back,) = unpack_requests(_sent(pack_requests([Request(1, 1, 5.0, inputs)])))
    np.testing.assert_array_equal(back.inputs, inputs)


messages = st.one_of(
    requests().map(lambda sent: (unpack_requests, _sent(pack_requests(sent)))),
    replies().map(lambda sent: (unpack_replies, _sent(sent.frames()))),
)


@st.composite
def mutations(draw: st.DrawFn) -> tuple[Unpack, list[bytes]]:
    """Frames of a valid message with something truncated, changed, added or removed."""
    _, frames = draw(messages)
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
    return draw(st.sampled_from([unpack_requests, unpack_replies])), frames


@given(mutations())
def test_changed_frames_are_a_message_or_a_wire_error(mutation: tuple[Unpack, list[bytes]]) -> None:
    unpack, frames = mutation
    try:
        found = unpack(frames)
    except WireError:
        return
    for item in found.replies() if isinstance(found, ReplyBundle) else found:  # type: ignore[attr-defined]
        assert isinstance(item.request_id, int)
        assert isinstance(item.epoch, int)


@given(messages, st.data())
def test_every_truncation_is_a_wire_error(message: tuple[Unpack, list[bytes]], data: st.DataObject) -> None:
    unpack, frames = message
    lengths = {index: len(frame) for index, frame in enumerate(frames) if frame}
    index = data.draw(st.sampled_from(sorted(lengths)))
    frames[index] = frames[index][: data.draw(st.integers(0, lengths[index] - 1))]
    with pytest.raises(WireError):
        unpack(frames)


@given(st.lists(st.binary(max_size=40), max_size=4), st.sampled_from([unpack_requests, unpack_replies]))
def test_random_bytes_are_a_wire_error(frames: list[bytes], unpack: Unpack) -> None:
    with pytest.raises(WireError):
        unpack(frames)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(["request_ids", "epoch", "left_ms", "rows", "features"]), json_values)
def test_request_field_of_another_type_is_a_wire_error(name: str, value: object) -> None:
    header = {"request_ids": [1], "epoch": 1, "left_ms": [1.5], "rows": [1], "features": 1, name: value}
    frames = [json.dumps(header).encode(errors="replace"), b"\0" * 4]
    try:
        found = unpack_requests(frames)
    except WireError:
        return
    for request in found:
        assert type(request.request_id) is type(request.epoch) is int
        assert type(request.left_ms) in (int, float)


@pytest.mark.parametrize(
    "wrong",
    [
        {"request_ids": 1},
        {"request_ids": []},
        {"request_ids": [True]},
        {"request_ids": [1, 2]},
        {"request_ids": list(range(MAX_ITEMS + 1))},
        {"epoch": "1"},
        {"epoch": None},
        {"status": 5},
        {"message": ["x"]},
        {"rows": [-1]},
        {"rows": [1.0]},
        {"rows": []},
        {"queue_ms": ["1"]},
        {"queue_ms": 1.0},
        {"compute_ms": None},
        {"failed": None},
        {"failed": ["out of memory"]},
        {"failed": {"0": 5}},
        {"shapes": None},
        {"shapes": "ab"},
        {"shapes": [[1, 1]]},
        {"more": 1},
    ],
    ids=lambda wrong: str(wrong)[:40],
)
def test_reply_field_of_another_type_is_a_wire_error(wrong: dict[str, Any]) -> None:
    header = {"request_ids": [1], "epoch": 1, "status": "ok", "rows": [1], "queue_ms": [0.0], "shapes": [[1, 1, 1]]}
    assert unpack_replies([json.dumps(header).encode(), b"\0" * 4])
    with pytest.raises(WireError):
        unpack_replies([json.dumps({**header, **wrong}).encode(), b"\0" * 4])


@pytest.mark.parametrize(
    ("rows", "features"),
    [
        ([MAX_ELEMENTS + 1], 1),
        ([2**62], 2**62),
        ([10**30], 0),
        ([-1], -1),
        ([1, -1, 1], 1),
        ([1.0], 1),
        ([1], 1.0),
        ([1], [1]),
        ("1", "1"),
        ({"0": 1}, 1),
        ([2], 1),
        ([], 1),
    ],
    ids=str,
)
def test_rows_without_their_bytes_are_a_wire_error(rows: object, features: object) -> None:
    count = len(rows) if isinstance(rows, list) else 1
    header = {"request_ids": [1] * count, "epoch": 1, "left_ms": [1.0] * count, "rows": rows, "features": features}
    with pytest.raises(WireError):
        unpack_requests([json.dumps(header).encode(), b"\0" * 4])


@pytest.mark.parametrize(
    "number", [str(2**63), "1" + "0" * 30, "9" * 4300, "9" * 5001], ids=lambda number: f"{len(number)} digits"
)
@pytest.mark.parametrize("sign", ["", "-"])
def test_number_that_no_field_can_have_is_a_wire_error(number: str, sign: str) -> None:
    request = '{"request_ids": [1, 2], "epoch": 1, "left_ms": [1, 1], "rows": [0, 0], "features": 0}'
    reply = (
        '{"request_ids": [1, 2], "epoch": 1, "status": "ok", "rows": [0, 0], "queue_ms": [0, 0], "shapes": [[0, 0, 0]]}'
    )
    assert unpack_requests([request.encode(), b""]) and unpack_replies([reply.encode(), b""])
    for unpack, header in ((unpack_requests, request), (unpack_replies, reply)):
        for field in ('"request_ids": [', '"epoch": ', '"rows": [', '"features": ', '"shapes": [['):
            if field in header:
                at = header.index(field) + len(field)
                with pytest.raises(WireError):
                    unpack([(header[:at] + sign + number + header[at + 1 :]).encode(), b""])


def test_message_has_a_maximum_of_requests() -> None:
    empty = np.empty((0, 1), np.float32)
    most = [Request(number, 1, 1.0, empty) for number in range(MAX_ITEMS)]
    assert len(unpack_requests(_sent(pack_requests(most)))) == MAX_ITEMS
    with pytest.raises(WireError, match="4097 request_ids"):
        unpack_requests(_sent(pack_requests([*most, Request(MAX_ITEMS, 1, 1.0, empty)])))


def test_reply_has_at_most_predictions_and_their_combination() -> None:
    header = {
        "request_ids": [1], "epoch": 1, "status": "ok", "rows": [1], "queue_ms": [0.0],
        "shapes": [[1, 1, 1], [1, 1], [1]],
    }  # fmt: skip
    with pytest.raises(WireError):
        unpack_replies([json.dumps(header).encode(), *[b"\0" * 4] * 3])
