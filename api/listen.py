"""A uvicorn server that says when it listens; api and gateway."""

from __future__ import annotations

import socket

import uvicorn

from sweep.part import say_ready


class ReadyServer(uvicorn.Server):
    """Tells `serve` that this part is ready as soon as its sockets accept connections."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            say_ready()
