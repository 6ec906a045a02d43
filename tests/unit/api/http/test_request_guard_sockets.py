"""The guard on a real socket: malformed requests, which no client library sends, are refused before any route."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest

from podium.api.http.readiness_reporting_server import ReadyServer, config
from tests.service_rig import ServiceRig

TOKEN = "Authorization: Bearer token-of-admin\r\n"
CASES = {
    "as it should be": ("GET /api/v1/devices HTTP/1.1\r\nHost: localhost\r\n" + TOKEN, 200),
    "at another port, through a tunnel": ("GET /api/v1/devices HTTP/1.1\r\nHost: localhost:9\r\n" + TOKEN, 200),
    "two names": ("GET /api/v1/devices HTTP/1.1\r\nHost: localhost\r\nHost: evil.test\r\n" + TOKEN, 421),
    "a name twice": ("GET /api/v1/devices HTTP/1.1\r\nHost: localhost\r\nhOsT: localhost\r\n" + TOKEN, 421),
    "no name": ("GET /api/v1/devices HTTP/1.1\r\n" + TOKEN, 421),
    "an empty name": ("GET /api/v1/devices HTTP/1.1\r\nHost:\r\n" + TOKEN, 421),
    "no name, as HTTP/1.0 may": ("GET /api/v1/devices HTTP/1.0\r\n" + TOKEN, 421),
    "a foreign name": ("GET /healthz HTTP/1.1\r\nHost: evil.test:8300\r\n", 421),
    "a foreign name in the path": ("GET http://evil.test/healthz HTTP/1.1\r\nHost: evil.test\r\n", 421),
    "our name in the path, a foreign one besides": (
        "GET http://localhost/healthz HTTP/1.1\r\nHost: evil.test\r\n",
        421,
    ),
    "a name with a path in it": ("GET /healthz HTTP/1.1\r\nHost: localhost/x?y#z\r\n", 421),
    "a forwarded name": ("GET /healthz HTTP/1.1\r\nHost: evil.test\r\nX-Forwarded-Host: localhost\r\n", 421),
    "a form of another site": (
        "POST /api/v1/sweeps/1/cancel HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.test\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n" + TOKEN,
        403,
    ),
    "a form of a sandboxed frame": (
        "POST /api/v1/sweeps/1/cancel HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\nContent-Length: 0\r\n" + TOKEN,
        403,
    ),
    "a method that is none": ("BREW /healthz HTTP/1.1\r\nHost: localhost\r\n", 400),
    "a socket for scripts": (
        "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.test\r\nSec-Fetch-Site: cross-site\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        403,
    ),
}


def status(port: int, request: str) -> int:
    """The status of the answer to these bytes."""
    close = "" if "Connection:" in request else "Connection: close\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(f"{request}{close}\r\n".encode())
        return int(connection.recv(4096).split()[1])


def answers(service: ServiceRig, ask: Callable[[int], dict[str, int]]) -> dict[str, int]:
    """The result of `ask` with the API on its own port."""
    tcp = socket.create_server(("127.0.0.1", 0))

    async def run() -> dict[str, int]:
        server = ReadyServer(config(service.app(), service.settings))
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        await server.startup([tcp])
        try:
            return await asyncio.to_thread(ask, tcp.getsockname()[1])
        finally:
            await server.shutdown([tcp])

    return asyncio.run(run())


@pytest.mark.filterwarnings("ignore:.*Unsupported upgrade request")
def test_every_form_of_a_foreign_request_is_refused(service: ServiceRig) -> None:
    def ask(port: int) -> dict[str, int]:
        return {name: status(port, request) for name, (request, _) in CASES.items()}

    assert answers(service, ask) == {name: expected for name, (_, expected) in CASES.items()}
