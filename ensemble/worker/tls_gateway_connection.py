"""One TLS connection of a worker to a gateway on another machine; worker process.

The gateway proves its identity by the certificate and the key of the cluster, which only the head has. Nothing of what
arrives is read before that, and nothing is sent.
"""

from __future__ import annotations

import select
import socket
import ssl
import time

from podium.ensemble.protocol.framing import framed
from podium.ensemble.protocol.prediction_messages import Frames
from podium.ensemble.protocol.remote_worker_endpoint import HEARTBEAT, HeartbeatReader, encrypted_together
from podium.ensemble.worker.gateway_connection import GatewayConnection

_READ_BYTES = 1 << 18


class TlsGatewayConnection(GatewayConnection):
    """Encrypts and decrypts between the socket and the messages; one lock guards the state of TLS."""

    def __init__(
        self, accepted: socket.socket, number: int, epoll: select.epoll, max_unsent_bytes: int, context: ssl.SSLContext
    ) -> None:
        super().__init__(accepted, number, epoll, max_unsent_bytes)
        self.receive = self._receive_decrypted
        self.reader = HeartbeatReader(lambda: self.send(HEARTBEAT))
        self.is_established = False  # the gateway has proved its identity
        self.accepted_s = self.heard_s = time.monotonic()  # when something arrived last
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    def send(self, frames: Frames) -> None:
        with self._lock:
            if self._is_closed or not self.is_established or self._unsent_bytes > self._max_unsent_bytes:
                return
            for buffer in encrypted_together(framed(frames)):
                self._tls.write(buffer)
            self._flush()

    def _receive_decrypted(self, size: int) -> bytes:
        """What has arrived, b"" at the end. Raises `BlockingIOError` if nothing is complete, and `OSError`."""
        content = self.socket.recv(size)
        if not content:
            return b""
        with self._lock:
            self.heard_s = time.monotonic()
            self._incoming.write(content)
            try:
                found, has_ended = self._decrypted()
            finally:
                self._flush()
        if not found and not has_ended:
            raise BlockingIOError
        return found

    def _decrypted(self) -> tuple[bytes, bool]:
        """The bytes that are complete, and whether the stream has ended after them. Raises `ssl.SSLError`."""
        found: list[bytes] = []
        try:
            if not self.is_established:
                self._tls.do_handshake()
                self.is_established = True
            while content := self._tls.read(_READ_BYTES):
                found.append(content)
        except ssl.SSLWantReadError:
            return b"".join(found), False
        except ssl.SSLZeroReturnError:
            pass
        return b"".join(found), True

    def _flush(self) -> None:
        if content := self._outgoing.read():
            self._put([memoryview(content)])
