"""Endpoints on other machines as text, and heartbeats among messages."""

from __future__ import annotations

import pytest

from podium.ensemble.protocol.framing import framed
from podium.ensemble.protocol.remote_worker_endpoint import HEARTBEAT, HeartbeatReader, TlsEndpoint, is_tls

FINGERPRINT = "0a" * 32


@pytest.mark.parametrize("host", ["10.0.0.5", "node-b.example", "fe80::1"])
def test_endpoint_as_text(host: str) -> None:
    endpoint = TlsEndpoint(host, 8400, FINGERPRINT)
    assert is_tls(str(endpoint))
    assert TlsEndpoint.parse(str(endpoint)) == endpoint


@pytest.mark.parametrize(
    "text", ["unix:/s", "tls:h:1", f"tls:h#{FINGERPRINT}", f"tls:h:x#{FINGERPRINT}", f"tls:h:1#{FINGERPRINT}0"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="tls:HOST:PORT#FINGERPRINT"):
        TlsEndpoint.parse(text)


def test_heartbeats_are_taken_out() -> None:
    beats: list[None] = []
    reader = HeartbeatReader(lambda: beats.append(None))
    stream = b"".join(b"".join(framed(frames)) for frames in ([b"a", b""], HEARTBEAT, HEARTBEAT, [b"b"]))
    assert reader.feed(stream[:-3]) == [[b"a", b""]]
    assert reader.feed(stream[-3:]) == [[b"b"]]
    assert len(beats) == 2
