"""A uvicorn server that says when it listens; api and gateway."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from podium.api.http.connection_limits import BoundedProtocol, BoundedState
from podium.sweep.runtime.component import say_ready
from podium.sweep.runtime.settings import ServiceSettings

MAX_HANDSHAKE_S = 10.0
MAX_ACCEPTED = 2048  # connections that nobody has looked at yet


def config(app: ASGIApp, settings: ServiceSettings) -> uvicorn.Config:
    """How api and gateway are served. Who asks, and by TLS or not, is believed of the proxies before it alone."""
    return uvicorn.Config(
        app, host=settings.host, port=settings.port, log_level="warning", access_log=False, http=BoundedProtocol,
        timeout_graceful_shutdown=2, server_header=False, ws="none",
        proxy_headers=bool(settings.proxies), forwarded_allow_ips=list(settings.proxies),
        ssl_certfile=settings.tls_cert or None, ssl_keyfile=settings.tls_key or None,
    )  # fmt: skip


class ReadyServer(uvicorn.Server):
    """Tells `serve` that this part is ready as soon as its sockets accept connections.

    `on_stop` is called when it is to stop, before it waits for the answers that are on their way: streams must end.
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
            say_ready()

    async def _serve_on(self, listening: socket.socket) -> asyncio.base_events.Server:
        """By TLS where there is a certificate; but a Unix socket needs none: nobody else hears it."""
        loop = asyncio.get_running_loop()

        def protocol() -> asyncio.Protocol:
            return self.config.http_protocol_class(  # type: ignore[call-arg]
                config=self.config, server_state=self.server_state, app_state=self.lifespan.state, _loop=loop
            )

        tls = None if listening.family == socket.AF_UNIX else self.config.ssl
        return await loop.create_server(
            protocol, sock=listening, backlog=MAX_ACCEPTED, ssl=tls,
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
    """A socket that listens there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=MAX_ACCEPTED)
