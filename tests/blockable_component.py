"""A component that serves requests as the api does, and can be made to hang by them; for tests of the supervisor."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from anyio import to_thread

from podium.api.http import readiness_reporting_server
from podium.api.http.readiness_reporting_server import ReadyServer
from podium.api.http.thread_pool_liveness import ThreadPoolWatch
from podium.sweep.runtime.component_startup_and_heartbeats import send_heartbeat, start_component

LONG_S = 600.0
CALLS = 100  # more than any pool has threads
_pending: set[asyncio.Task[Any]] = set()


async def app(scope: Any, _receive: Any, send: Any) -> None:
    """`/loop` blocks the event loop, `/anyio` and `/asyncio` the threads of a pool; any other path answers."""
    if scope["path"] == "/loop":
        time.sleep(LONG_S)
    if scope["path"] == "/anyio":
        _pending.update(asyncio.create_task(to_thread.run_sync(time.sleep, LONG_S)) for _ in range(CALLS))
    if scope["path"] == "/asyncio":
        _pending.update(asyncio.create_task(asyncio.to_thread(time.sleep, LONG_S)) for _ in range(CALLS))
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def main() -> None:
    """Serve at the port of the api until SIGTERM."""
    settings = start_component("test")
    config = readiness_reporting_server.config(app, settings)
    config.lifespan = "off"
    server = ReadyServer(config, on_turn=ThreadPoolWatch(send_heartbeat))
    server.run(sockets=[readiness_reporting_server.tcp(settings.host, settings.port)])


if __name__ == "__main__":
    main()
