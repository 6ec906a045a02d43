"""The messages between the process template and its clients."""

from __future__ import annotations

import pytest

from podium.sweep.protocol.process_template_messages import (
    ForkProcess,
    ProcessExited,
    ProcessForked,
    ProcessOutdated,
    TemplateReply,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
)


def test_request_survives_a_round_trip() -> None:
    request = ForkProcess("some.module", ("one", "two\n"), {"PATH": "/bin", "EMPTY": ""}, detached=True)
    line = encode_request(request)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert decode_request(line) == request


@pytest.mark.parametrize("reply", [ProcessForked(12), ProcessExited(-9, 3), ProcessOutdated()])
def test_reply_survives_a_round_trip(reply: TemplateReply) -> None:
    assert decode_reply(encode_reply(reply)) == reply


@pytest.mark.parametrize("line", [b"\n", b"{}\n", b"[]\n", b'{"entry": "a"}\n'])
def test_other_lines_are_refused(line: bytes) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        decode_request(line)
