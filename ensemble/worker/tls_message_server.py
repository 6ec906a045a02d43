"""The worker's TLS socket for gateways on another machine; worker process.

It differs from the Unix socket in that anybody on the network can connect. Connections that have not proved their
identity are few and short, and a connection is closed when nothing has arrived for a time: a network that is cut closes
none.
"""

from __future__ import annotations

import errno
import random
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from podium.ensemble.protocol.remote_worker_endpoint import TlsEndpoint
from podium.ensemble.worker.control_messages import TlsListening
from podium.ensemble.worker.gateway_connection import GatewayConnection
from podium.ensemble.worker.message_server import MAX_UNSENT_BYTES, MessageServer
from podium.ensemble.worker.tls_gateway_connection import TlsGatewayConnection
from podium.sweep.runtime.certificate_pin import fingerprint, listening_context, read_certificate


@dataclass(frozen=True, slots=True)
class TlsLimits:
    """Limits of connections on TCP."""

    handshake_s: float = 5.0
    unidentified: int = 32  # connections that have not proved their identity; one more replaces the oldest
    silent_s: float = 10.0  # gateways send heartbeats every half second
    check_interval_s: float = 1.0  # between two checks of all connections


TLS_LIMITS = TlsLimits()


class TlsMessageServer(MessageServer):
    """Listens on a port of a range."""

    def __init__(
        self, listening: TlsListening, max_unsent_bytes: int = MAX_UNSENT_BYTES, *, limits: TlsLimits = TLS_LIMITS
    ) -> None:
        """Raises `OSError` if the certificate cannot be read."""
        self._where = listening
        self._context = listening_context(Path(listening.certificate), Path(listening.key), listening.client)
        self._fingerprint = fingerprint(read_certificate(Path(listening.certificate)))
        self._limits = limits
        self._wait_s = limits.check_interval_s
        self._checked_s = time.monotonic()
        super().__init__("", max_unsent_bytes)

    def receive(self) -> Iterator[tuple[int, list[bytes]]]:
        yield from super().receive()  # first: after a pause of this process, heartbeats wait in the sockets
        if time.monotonic() - self._checked_s >= self._limits.check_interval_s:
            self._checked_s = time.monotonic()
            self._drop_silent()

    def _new_socket(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._where.host else socket.AF_INET
        created = socket.socket(family, socket.SOCK_STREAM)
        created.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return created

    def _bind(self) -> None:
        where = self._where
        ports = list(range(where.first_port, where.last_port + 1)) if where.last_port else [0]
        random.shuffle(ports)  # several workers start at the same time
        for port in ports:
            try:
                self._listening.bind((where.host, port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            self.endpoint = str(TlsEndpoint(where.host, self._listening.getsockname()[1], self._fingerprint))
            return
        raise OSError(errno.EADDRINUSE, f"no port of {where.first_port} to {where.last_port} is free at {where.host}")

    def _new_connection(self, accepted: socket.socket) -> GatewayConnection:
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        unidentified = [each for each in self._tls_connections() if not each.is_established]
        for oldest in unidentified[: max(0, len(unidentified) + 1 - self._limits.unidentified)]:
            self._drop_unless_handled(oldest)
        return TlsGatewayConnection(accepted, next(self._numbers), self._epoll, self._max_unsent_bytes, self._context)

    def _tls_connections(self) -> list[TlsGatewayConnection]:
        return cast(list[TlsGatewayConnection], list(self._connections.values()))

    def _drop_silent(self) -> None:
        now_s = time.monotonic()
        for connection in self._tls_connections():
            if connection.is_established:
                is_over = now_s - connection.heard_s > self._limits.silent_s
            else:
                is_over = now_s - connection.accepted_s > self._limits.handshake_s
            if is_over:
                self._drop_unless_handled(connection)

    def _drop_unless_handled(self, connection: TlsGatewayConnection) -> None:
        """Another thread that handles an event of it drops it itself, or has heard from it."""
        if connection.begin():
            self._drop(connection)
