"""A uvicorn server that reports readiness to the supervisor; api and gateway."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from podium.api.http.connection_limits import BoundedProtocol, BoundedState
from podium.sweep.runtime.component_lifecycle import report_ready
from podium.sweep.runtime.service_settings import ServiceSettings

MAX_HANDSHAKE_S = 10.0
BACKLOG = 2048  # connections that are not accepted yet


def config(app: ASGIApp, settings: ServiceSettings) -> uvicorn.Config:
    """The configuration of api and gateway. Forwarded headers are trusted from the configured proxies only."""
    return uvicorn.Config(
        app, host=settings.host, port=settings.port, log_level="warning", access_log=False, http=BoundedProtocol,
        timeout_graceful_shutdown=2, server_header=False, ws="none",
        proxy_headers=bool(settings.proxies), forwarded_allow_ips=list(settings.proxies),
        ssl_certfile=settings.tls_cert or None, ssl_keyfile=settings.tls_key or None,
    )  # fmt: skip


class ReadyServer(uvicorn.Server):
    """Reports readiness as soon as its sockets accept connections.

    `on_stop` is called before the server waits for pending responses: it must end streams.
    """

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None] | None = None) -> None:
        super().__init__(config)
        self.bounds = self.server_state = BoundedState()
        self._on_stop = on_stop

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
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._on_stop is not None:
            self._on_stop()
        await super().shutdown(sockets)


def tcp(host: str, port: int) -> socket.socket:
    """A listening socket."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG)
