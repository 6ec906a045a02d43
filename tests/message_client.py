"""A blocking connection to a worker, as a gateway's."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Sequence

from podium.ensemble.protocol.framing import FrameReader, framed, unix_path

PATIENCE_S = 30.0  # a message that has not arrived by then never will


class MessageClient:
    """Sends and receives messages; waits until the worker listens."""

    def __init__(self, endpoint: str) -> None:
        self.socket = _connected(unix_path(endpoint))
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


def _connected(path: str) -> socket.socket:
    end_s = time.monotonic() + PATIENCE_S
    while True:
        connecting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connecting.settimeout(PATIENCE_S)
        try:
            connecting.connect(path)
            return connecting
        except (FileNotFoundError, ConnectionRefusedError):
            connecting.close()
            if time.monotonic() > end_s:
                raise
            time.sleep(0.01)
