"""Endpoints of workers on other machines, and the heartbeats of their connections; gateway and worker processes.

An endpoint is `tls:HOST:PORT#FINGERPRINT`: where the worker listens, and the SHA-256 of its certificate. It contains no
secret. The messages are those of a Unix socket. In addition, both sides send heartbeats, since a network that is cut
closes no connection: the gateway at regular intervals, and the worker one for each that it receives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from podium.ensemble.protocol.framing import FrameReader

HEARTBEAT: list[bytes | memoryview] = [b""]  # the frames of a heartbeat: no request and no reply is empty
HEARTBEAT_S = 0.5
MISSED_HEARTBEATS = 3  # in a row: the connection is lost
_JOINED_BYTES = 1 << 16  # the buffers of a shorter message are encrypted together
_TLS = "tls:"
_ENDPOINT = re.compile(r"tls:(?P<host>[^\[\]#]+|\[[0-9a-fA-F:.]+\]):(?P<port>[0-9]{1,5})#(?P<fingerprint>[0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class TlsEndpoint:
    """Where a worker listens, and the certificate that it must have."""

    host: str
    port: int
    fingerprint: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{_TLS}{host}:{self.port}#{self.fingerprint}"

    @classmethod
    def parse(cls, endpoint: str) -> TlsEndpoint:
        """The inverse of `str`. Raises `ValueError`."""
        match = _ENDPOINT.fullmatch(endpoint)
        if match is None:
            raise ValueError(f"{endpoint}: an endpoint on another machine is {_TLS}HOST:PORT#FINGERPRINT")
        return cls(match["host"].strip("[]"), int(match["port"]), match["fingerprint"])


def is_tls(endpoint: str) -> bool:
    """Whether an endpoint is on another machine."""
    return endpoint.startswith(_TLS)


def encrypted_together(buffers: Sequence[bytes | memoryview]) -> list[bytes | memoryview]:
    """The buffers of a message as they are given to TLS: those of a short one joined, and none that is empty."""
    if sum(map(len, buffers)) <= _JOINED_BYTES:
        return [b"".join(buffers)]
    return [buffer for buffer in buffers if len(buffer)]


class HeartbeatReader(FrameReader):
    """Splits a stream into messages without the heartbeats, for each of which it calls `on_heartbeat`."""

    def __init__(self, on_heartbeat: Callable[[], None]) -> None:
        super().__init__()
        self._on_heartbeat = on_heartbeat

    def feed(self, data: bytes) -> list[list[bytes]]:
        messages = super().feed(data)
        if HEARTBEAT in messages:
            for _ in range(messages.count(HEARTBEAT)):  # type: ignore[arg-type] # a list of bytes is never longer
                self._on_heartbeat()
            messages = [frames for frames in messages if frames != HEARTBEAT]
        return messages
