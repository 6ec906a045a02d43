"""Requests and replies of the fork server are the same after encoding and decoding."""

from __future__ import annotations

import pytest

from podium.sweep.protocol.fork_server_messages import (
    AttemptExited,
    AttemptForked,
    ForkAttempt,
    ForkServerFailed,
    ForkServerReady,
    ForkServerReply,
    ForkServerRequest,
    SignalAttempt,
    SpareForked,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
)


@pytest.mark.parametrize("request_", [ForkAttempt(), SignalAttempt(15)])
def test_request_is_unchanged_after_round_trip(request_: ForkServerRequest) -> None:
    assert decode_request(encode_request(request_)) == request_


@pytest.mark.parametrize(
    "reply",
    [
        ForkServerReady(7),
        ForkServerFailed("no such package"),
        SpareForked(8),
        AttemptForked(8),
        AttemptForked(8, 9),
        AttemptExited(8, -9, 2),
    ],
)
def test_reply_is_one_line_and_unchanged_after_round_trip(reply: ForkServerReply) -> None:
    line = encode_reply(reply)
    assert line.endswith(b"\n") and decode_reply(line) == reply
