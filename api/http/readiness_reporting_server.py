"""A uvicorn server that reports readiness to the supervisor; api and gateway."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping

import uvicorn
from starlette.types import ASGIApp

from podium.api.http.connection_limits import BoundedProtocol, BoundedState
from podium.api.http.connection_progress import LIMITS_S, Awaited
from podium.sweep.runtime.component_startup_and_heartbeats import report_ready
from podium.sweep.runtime.service_settings import ServiceSettings

MAX_HANDSHAKE_S = 10.0
BACKLOG = 2048  # connections that are not accepted yet


def config(
    app: ASGIApp, settings: ServiceSettings, protocol: type[BoundedProtocol] = BoundedProtocol
) -> uvicorn.Config:
    """The configuration of api and gateway. Forwarded headers are trusted from the configured proxies only."""
    return uvicorn.Config(
        app, host=settings.host, port=settings.port, log_level="warning", access_log=False, http=protocol,
        timeout_graceful_shutdown=2, server_header=False, ws="none",
        proxy_headers=bool(settings.proxies), forwarded_allow_ips=list(settings.proxies),
        ssl_certfile=settings.tls_cert or None, ssl_keyfile=settings.tls_key or None,
    )  # fmt: skip


class ReadyServer(uvicorn.Server):
    """Reports readiness as soon as its sockets accept connections.

    `on_stop` is called before the server waits for pending responses: it must end streams. `on_turn` is called by
    the event loop ten times a second. `limits_s`: how long the server waits for a client, in seconds.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        on_stop: Callable[[], None] | None = None,
        on_turn: Callable[[], None] = lambda: None,
        limits_s: Mapping[Awaited, float] = LIMITS_S,
    ) -> None:
        super().__init__(config)
        self.bounds = self.server_state = BoundedState(limits_s)
        self._on_stop = on_stop
        self._on_turn = on_turn

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(None if sockets is None else [])
        if self.started:
            for each in sockets or ():
                self.servers.append(await self._serve_on(each))
            report_ready()

    async def _serve_on(self, listening: socket.socket) -> asyncio.base_events.Server:
        """With TLS if a certificate is configured, except on a Unix socket."""
        loop = asyncio.get_running_loop()

        def protocol() -> asyncio.Protocol:
            return self.config.http_protocol_class(  # type: ignore[call-arg]
                config=self.config, server_state=self.server_state, app_state=self.lifespan.state, _loop=loop
            )

        tls = None if listening.family == socket.AF_UNIX else self.config.ssl
        return await loop.create_server(
            protocol, sock=listening, backlog=BACKLOG, ssl=tls,
            ssl_handshake_timeout=MAX_HANDSHAKE_S if tls else None,
        )  # fmt: skip

    async def on_tick(self, counter: int) -> bool:
        self.bounds.end_overdue()
        self._on_turn()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._on_stop is not None:
            self._on_stop()
        await super().shutdown(sockets)


def tcp(host: str, port: int) -> socket.socket:
    """A listening socket."""
    return socket.create_server((host, port), family=_family(host), backlog=BACKLOG)


def shared_tcp(host: str, port: int) -> socket.socket:
    """A socket on a port that processes of this user share: the kernel gives each connection to one of them.

    It does not listen before the server starts on it: until then, the others get the connections.
    """
    shared = socket.socket(_family(host), socket.SOCK_STREAM)
    try:
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            shared.setsockopt(socket.SOL_SOCKET, option, 1)
        if shared.family == socket.AF_INET6:
            shared.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # as `create_server` does
        shared.bind((host, port))
    except OSError:
        shared.close()
        raise
    return shared


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
