"""Messages on a byte stream: every message arrives whole and once, however the stream is cut."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.ensemble.protocol.framing import (
    MAX_FRAMES,
    MAX_MESSAGE_BYTES,
    FrameReader,
    FramingError,
    framed,
    unix_endpoint,
    unix_path,
)

MESSAGES = st.lists(st.lists(st.binary(max_size=40), min_size=1, max_size=MAX_FRAMES), max_size=6)


@given(MESSAGES, st.data())
def test_stream_may_be_cut_anywhere(messages: list[list[bytes]], data: st.DataObject) -> None:
    stream = b"".join(b"".join(framed(frames)) for frames in messages)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    reader = FrameReader()
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += reader.feed(stream[start:end])
    assert found == messages


def test_message_is_found_as_soon_as_its_last_byte_has_arrived() -> None:
    stream = b"".join(framed([b"header", b"rows"]))
    reader = FrameReader()
    found = [reader.feed(stream[n : n + 1]) for n in range(len(stream))]
    assert found[:-1] == [[]] * (len(stream) - 1)
    assert found[-1] == [[b"header", b"rows"]]


@pytest.mark.parametrize("shape", [(3, 4), (1, 2, 3), (0, 4), (2, 0, 3), (5,)])
def test_arrays_are_written_as_their_bytes(shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    (frames,) = FrameReader().feed(b"".join(framed([b"{}", array.data])))
    assert frames == [b"{}", array.tobytes()]


def test_frames_are_not_copied() -> None:
    array = np.zeros((2, 3), np.float32)
    _, view = framed([array.data])
    array[:] = 1
    assert bytes(view) == array.tobytes()


@pytest.mark.parametrize("count", [0, MAX_FRAMES + 1, 2**32 - 1])
def test_number_of_frames_is_checked(count: int) -> None:
    with pytest.raises(FramingError, match="frames"):
        FrameReader().feed(struct.pack("!I", count) + b"\0" * 100)


def test_size_is_checked_before_the_message_arrives() -> None:
    half = MAX_MESSAGE_BYTES // 2
    assert FrameReader().feed(struct.pack("!3I", 2, half, half - 12)) == []
    with pytest.raises(FramingError, match="bytes"):
        FrameReader().feed(struct.pack("!3I", 2, half, half + 1))


@given(st.binary(max_size=200))
def test_any_bytes_are_messages_or_an_error(data: bytes) -> None:
    try:
        for frames in FrameReader().feed(data):
            assert frames
    except FramingError:
        pass


def test_endpoint_names_a_unix_socket() -> None:
    assert unix_path(unix_endpoint("/run/podium/r1")) == "/run/podium/r1"
    with pytest.raises(ValueError, match=r"tcp://somewhere: an endpoint must start with unix:"):
        unix_path("tcp://somewhere")
