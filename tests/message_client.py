"""A blocking connection to a worker, as a gateway's."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Sequence

from podium.ensemble.protocol.framing import FrameReader, framed, unix_path

PATIENCE_S = 30.0  # a message that has not arrived by then never will


class MessageClient:
    """Sends and receives messages."""

    def __init__(self, endpoint: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(unix_path(endpoint))
        self._reader = FrameReader()
        self._received: deque[list[bytes]] = deque()

    def send(self, frames: Sequence[bytes | memoryview]) -> None:
        self.socket.sendall(b"".join(framed(frames)))

    def receive(self) -> list[bytes]:
        """The frames of the next message. Raises `ConnectionError` when the worker closes the connection."""
        while not self._received:
            data = self.socket.recv(1 << 18)
            if not data:
                raise ConnectionError("the worker has closed the connection")
            self._received += self._reader.feed(data)
        return self._received.popleft()

    def close(self) -> None:
        self.socket.close()
