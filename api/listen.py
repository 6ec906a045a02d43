"""A uvicorn server that says when it listens; api and gateway."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from sweep.part import say_ready


class ReadyServer(uvicorn.Server):
    """Tells `serve` that this part is ready as soon as its sockets accept connections.

    `on_stop` is called when it is to stop, before it waits for the answers that are on their way: streams must end.
    """

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None] | None = None) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            say_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._on_stop is not None:
            self._on_stop()
        await super().shutdown(sockets)
