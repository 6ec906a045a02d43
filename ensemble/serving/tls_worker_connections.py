"""The gateway's connections to workers on other machines: TLS on TCP, with heartbeats; gateway process."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from podium.ensemble.protocol.framing import FrameReader, framed
from podium.ensemble.protocol.remote_worker_endpoint import (
    HEARTBEAT,
    HEARTBEAT_S,
    MISSED_HEARTBEATS,
    HeartbeatReader,
    TlsEndpoint,
    encrypted_together,
    is_tls,
)
from podium.ensemble.serving.unix_socket_transport import (
    LIMITS,
    Frames,
    Listener,
    SendLimits,
    SocketConnection,
    SocketTransport,
)
from podium.sweep.runtime.certificate_pin import is_pinned

log = logging.getLogger("podium.tls_worker_connections")


@dataclass(frozen=True, slots=True)
class HeartbeatTimes:
    """When a connection to another machine is lost."""

    connect_s: float = 3.0  # TCP and TLS
    retry_s: float = 1.0  # after a connection that was refused
    interval_s: float = HEARTBEAT_S
    missed: int = MISSED_HEARTBEATS
    late_share: float = 1.8  # of `interval_s`: silence until a late reply means a lost connection


TIMES = HeartbeatTimes()


class NodeTransport(SocketTransport):
    """Connections to workers on this machine, and on others."""

    def __init__(self, context: ssl.SSLContext, limits: SendLimits = LIMITS, *, times: HeartbeatTimes = TIMES) -> None:
        """`context` proves the identity of the gateway."""
        super().__init__(limits)
        self._context = context
        self._times = times

    def _new_connection(self, endpoint: str, listener: Listener) -> SocketConnection:
        if not is_tls(endpoint):
            return super()._new_connection(endpoint, listener)
        return TlsConnection(
            TlsEndpoint.parse(endpoint), self._context, listener, self._open.discard, self._limits, self._times
        )


class TlsConnection(SocketConnection):
    """A connection that counts as established when the worker has answered a heartbeat.

    Before, the worker may still refuse the certificate of the gateway, which TLS reports after the handshake.
    """

    def __init__(
        self, endpoint: TlsEndpoint, context: ssl.SSLContext, listener: Listener,
        on_close: Callable[[SocketConnection], None], limits: SendLimits, times: HeartbeatTimes,
    ) -> None:  # fmt: skip
        super().__init__(str(endpoint), listener, on_close, limits)
        self._endpoint = endpoint
        self._context = context
        self._times = times
        self._unconfirmed: asyncio.Transport | None = None  # the handshake is done, and no heartbeat has arrived
        self._was_refused = False
        self._missed = 0  # heartbeats in a row
        self._heard_s = 0.0
        self._next_beat: asyncio.TimerHandle | None = None

    def send(self, frames: Frames) -> bool:
        if self._transport is None or self._transport.get_write_buffer_size() > self._limits.unsent_bytes:
            return super().send(frames)
        self._transport.writelines(encrypted_together(framed(frames)))
        return True

    def reply_is_late(self) -> None:
        """At the first deadline after a cut, at least one heartbeat is missing: later requests need not wait for it."""
        silent_s = time.monotonic() - self._heard_s
        if self._transport is not None and silent_s >= self._times.late_share * self._times.interval_s:
            log.warning("%s: nothing has arrived for %.1f s; the connection is closed", self._path, silent_s)
            self._transport.abort()

    def close(self) -> None:
        if self._unconfirmed is not None:
            self._unconfirmed.abort()
        super().close()

    async def _dial(self) -> None:
        if self._was_refused:
            self._was_refused = False
            await asyncio.sleep(self._times.retry_s)
        async with asyncio.timeout(self._times.connect_s):
            await self._loop.create_connection(
                lambda: self, self._endpoint.host, self._endpoint.port, ssl=self._context
            )

    def _new_reader(self) -> FrameReader:
        return HeartbeatReader(lambda: None)

    def _beat(self) -> None:
        transport = self._transport or self._unconfirmed
        assert transport is not None
        if self._missed >= self._times.missed:
            log.warning("%s: %d heartbeats are missing; the connection is closed", self._path, self._missed)
            transport.abort()
            return
        self._missed += 1
        transport.write(b"".join(framed(HEARTBEAT)))
        self._next_beat = self._loop.call_later(self._times.interval_s, self._beat)

    # `asyncio.Protocol`

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._unconfirmed = cast(asyncio.Transport, transport)
        self._missed = 0
        if not is_pinned(transport.get_extra_info("ssl_object"), self._endpoint.fingerprint):
            log.error("%s: another certificate than the worker has reported", self._path)
            self._unconfirmed.abort()
            return
        self._beat()

    def data_received(self, data: bytes) -> None:
        self._missed = 0
        self._heard_s = time.monotonic()
        if self._unconfirmed is not None:
            established, self._unconfirmed = self._unconfirmed, None
            super().connection_made(established)
        if not self._closed:
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._next_beat is not None:
            self._next_beat.cancel()
        if self._unconfirmed is None:
            super().connection_lost(exc)
            return
        self._unconfirmed = None
        self._was_refused = True
        self._reader = self._new_reader()
        if not self._closed:
            self._connecting = self._loop.create_task(self._connect())
