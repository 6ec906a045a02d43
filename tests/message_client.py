"""A blocking connection to a worker, as a gateway's."""

from __future__ import annotations

import socket
import ssl
import time
from collections import deque
from collections.abc import Sequence

from podium.ensemble.protocol.framing import framed, unix_path
from podium.ensemble.protocol.remote_worker_endpoint import HeartbeatReader, TlsEndpoint

PATIENCE_S = 30.0  # a message that has not arrived by then never will


class MessageClient:
    """Sends and receives messages; waits until the worker listens.

    Args:
        endpoint: Of the worker.
        context: Proves the identity of the gateway to a worker on TCP.
    """

    def __init__(self, endpoint: str, context: ssl.SSLContext | None = None) -> None:
        if context is None:
            self.socket = _connected(unix_path(endpoint))
        else:
            where = TlsEndpoint.parse(endpoint)
            plain = socket.create_connection((where.host, where.port), timeout=PATIENCE_S)
            self.socket = context.wrap_socket(plain)
        self._reader = HeartbeatReader(lambda: None)
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
