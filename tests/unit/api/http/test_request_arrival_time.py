"""The time at which a request had arrived: when the event loop began to read, not when its endpoint was called."""

from __future__ import annotations

import asyncio
import socket
import time

from fastapi import FastAPI, Request
from starlette.middleware.base import RequestResponseEndpoint
from starlette.responses import Response

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


def test_all_requests_of_a_turn_arrive_when_it_begins() -> None:
    times = iter([10.0, 20.0])

    async def read() -> list[float]:
        clock = request_arrival_time.ReadClock(lambda: next(times))
        first = [clock.began_s(), clock.began_s()]
        await asyncio.sleep(0)
        return [*first, clock.began_s()]

    assert asyncio.run(read()) == [10.0, 10.0, 20.0]


def test_request_does_not_arrive_later_because_others_are_read_first() -> None:
    found: list[float | None] = []
    app = FastAPI()

    @app.middleware("http")
    async def note(request: Request, call_next: RequestResponseEndpoint) -> Response:
        found.append(request_arrival_time.arrived_s(request))
        return await call_next(request)

    async def ask() -> None:
        tcp = socket.create_server(("127.0.0.1", 0))
        server = ReadyServer(config(app, ServiceSettings("data", "run")))
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        await server.startup([tcp])
        connections = [await asyncio.open_connection(*tcp.getsockname()) for _ in range(16)]
        while server.bounds.clients < len(connections):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)  # the server reads from all of them
        for _, writer in connections:
            writer.write(HEAD + b"{}")  # sent at once; the loop reads them in its next turn
        for reader, writer in connections:
            await reader.readuntil(b"\r\n\r\n")
            writer.close()
        await server.shutdown([tcp])

    asyncio.run(ask())
    assert len(found) == 16 and len(set(found)) == 1 and None not in found
