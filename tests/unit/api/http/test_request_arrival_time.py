"""The time at which a request had arrived: when its last byte was received, not when its endpoint was called."""

from __future__ import annotations

import asyncio
import socket
import time

from fastapi import FastAPI, Request

from podium.api.http import request_arrival_time
from podium.api.http.readiness_reporting_server import ReadyServer, config
from podium.sweep.runtime.service_settings import ServiceSettings

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n"


async def _arrivals(chunks: list[bytes], delay_s: float, count: int) -> list[float | None]:
    """The arrivals of `count` requests that were sent in these chunks, with `delay_s` in front of each chunk."""
    found: list[float | None] = []
    app = FastAPI()

    @app.post("/")
    async def endpoint(request: Request) -> None:
        await request.body()
        found.append(request_arrival_time.arrived_s(request))

    tcp = socket.create_server(("127.0.0.1", 0))
    server = ReadyServer(config(app, ServiceSettings("data", "run")))
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup([tcp])
    reader, writer = await asyncio.open_connection(*tcp.getsockname())
    for chunk in chunks:
        await asyncio.sleep(delay_s)
        writer.write(chunk)
    for _ in range(count):
        await reader.readuntil(b"\r\n\r\nnull")
    writer.close()
    await server.shutdown([tcp])
    return found


def test_arrival_is_that_of_the_last_byte() -> None:
    began_s = time.monotonic()
    (arrived_s,) = asyncio.run(_arrivals([HEAD + b"{", b"}"], 0.05, 1))
    assert arrived_s is not None and began_s + 0.1 <= arrived_s <= time.monotonic()


def test_request_behind_another_one_has_no_arrival() -> None:
    first, second = asyncio.run(_arrivals([2 * (HEAD + b"{}")], 0.0, 2))
    assert first is not None and second is None
