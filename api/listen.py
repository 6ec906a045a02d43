"""A uvicorn server that says when it listens; api and gateway."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from sweep.part import say_ready
from sweep.settings import ServiceSettings


def config(app: ASGIApp, settings: ServiceSettings) -> uvicorn.Config:
    """How api and gateway are served. Who asks, and by TLS or not, is believed of the proxies before it alone."""
    return uvicorn.Config(
        app, host=settings.host, port=settings.port, log_level="warning", access_log=False,
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
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        local = [each for each in sockets or () if each.family == socket.AF_UNIX]
        await super().startup(None if sockets is None else [each for each in sockets if each not in local])
        if self.started:
            for each in local:
                self.servers.append(await self._serve_plainly(each))
            say_ready()

    async def _serve_plainly(self, local: socket.socket) -> asyncio.base_events.Server:
        """A Unix socket needs no TLS: nobody else hears it."""
        loop = asyncio.get_running_loop()

        def protocol() -> asyncio.Protocol:
            return self.config.http_protocol_class(  # type: ignore[call-arg]
                config=self.config, server_state=self.server_state, app_state=self.lifespan.state, _loop=loop
            )

        return await loop.create_server(protocol, sock=local, backlog=self.config.backlog)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._on_stop is not None:
            self._on_stop()
        await super().shutdown(sockets)
