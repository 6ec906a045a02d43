"""HTTP to several gateways: in turn, and past those that do not accept the connection."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from podium.ensemble.protocol.gateway_http_client import BASE_URL, AsyncGatewayTransport, GatewayTransport


@contextmanager
def gateway(path: Path, answers: bool = True) -> Iterator[None]:
    """A gateway that answers each request with its name, or closes the connection after the request."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    listening.listen()
    body = path.stem.encode()
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                connection.recv(4096)
                if answers:
                    connection.sendall(head + body)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def ask(paths: list[Path], count: int) -> list[str]:
    """The names of the gateways that answered, one request after the other."""
    with httpx2.Client(transport=GatewayTransport(paths), base_url=BASE_URL, trust_env=False) as client:
        return [client.post("/", content=b"rows").text for _ in range(count)]


def ask_in_event_loop(paths: list[Path], count: int) -> list[str]:
    async def run() -> list[str]:
        transport = AsyncGatewayTransport(paths, httpx2.Limits())
        async with httpx2.AsyncClient(transport=transport, base_url=BASE_URL, trust_env=False) as client:
            return [(await client.post("/", content=b"rows")).text for _ in range(count)]

    return asyncio.run(run())


Ask = Callable[[list[Path], int], list[str]]
CUT = (httpx2.RemoteProtocolError, httpx2.ReadError)  # the gateway closed the connection, with or without a reset
ASK = pytest.mark.parametrize("ask_gateways", [ask, ask_in_event_loop])
# httpcore leaves the socket of a failed connection to the garbage collector.
UNCLOSED = pytest.mark.filterwarnings("ignore:unclosed <socket.*family=1:ResourceWarning")


@ASK
def test_gateways_take_turns(tmp_path: Path, ask_gateways: Ask) -> None:
    paths = [tmp_path / f"gateway-{number}" for number in (1, 2, 3)]
    with ExitStack() as stack:
        for path in paths:
            stack.enter_context(gateway(path))
        assert ask_gateways(paths, 4) == ["gateway-1", "gateway-2", "gateway-3", "gateway-1"]


@ASK
@UNCLOSED
def test_gateway_that_does_not_accept_is_passed_over(tmp_path: Path, ask_gateways: Ask) -> None:
    paths = [tmp_path / f"gateway-{number}" for number in (1, 2, 3)]
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    dead.bind(str(paths[1]))  # its file is left, as that of a process that was killed
    dead.close()
    with gateway(paths[2]):
        assert ask_gateways(paths, 3) == ["gateway-3"] * 3


@ASK
@UNCLOSED
def test_error_is_raised_when_none_accepts(tmp_path: Path, ask_gateways: Ask) -> None:
    with pytest.raises(httpx2.ConnectError):
        ask_gateways([tmp_path / "gateway-1", tmp_path / "gateway-2"], 1)


@ASK
def test_request_that_a_gateway_received_is_not_repeated(tmp_path: Path, ask_gateways: Ask) -> None:
    paths = [tmp_path / "gateway-1", tmp_path / "gateway-2"]
    with gateway(paths[0], answers=False), gateway(paths[1]), pytest.raises(CUT):
        ask_gateways(paths, 1)
