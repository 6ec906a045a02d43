"""Slow, idle, endless and too many clients on real sockets: others are served, and memory is bounded."""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast

import httpx2
import psutil
import pytest
from fastapi import FastAPI

from podium.api.http import connection_limits, readiness_reporting_server
from podium.api.http.connection_progress import LIMITS_S, Awaited
from podium.api.http.readiness_reporting_server import ReadyServer
from podium.api.http.request_body import IncomingBodies
from podium.api.rest.stream.event_polling import LIMITS, StreamLimits
from podium.api.rest.stream.event_routes import feed_of
from tests.repository import ROOT
from tests.running_service import RunningService, wait_for
from tests.service_rig import ServiceRig

CAMPAIGN = "PODIUM_SLOW_CLIENTS" in os.environ  # on an otherwise idle machine
SLOW_CLIENTS = int(os.environ.get("PODIUM_SLOW_CLIENTS", "1000"))
HEAD = b"Host: localhost\r\nAuthorization: Bearer token-of-admin\r\n"
POST = b"POST /api/v1/sweeps HTTP/1.1\r\n" + HEAD
LARGE = b"Content-Length: 5368709120\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n"
PLENTY = 5 << 30


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[ServiceRig]:
    opened = ServiceRig(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def server(rig: ServiceRig, request: pytest.FixtureRequest) -> Iterator[ReadyServer]:
    """A running server; the parameter changes how long it waits for a client, in seconds."""
    with serving(rig, limits_s={**LIMITS_S, **getattr(request, "param", {})}) as found:
        yield found


@contextmanager
def serving(
    rig: ServiceRig, *, limits_s: Mapping[Awaited, float] = LIMITS_S, streams: StreamLimits = LIMITS
) -> Iterator[ReadyServer]:
    """The api as `serve` runs it, in a thread, on a port of its own."""
    app = rig.app()
    app.state.feed = feed_of(app.state.service, streams)
    tcp = readiness_reporting_server.tcp("127.0.0.1", 0)
    found = ReadyServer(readiness_reporting_server.config(app, rig.settings), app.state.feed.close, limits_s=limits_s)
    thread = threading.Thread(target=found.run, args=([tcp],))
    thread.start()
    wait_for("the server listens", lambda: found.servers if found.started else None)
    try:
        yield found
    finally:
        found.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def port_of(server: ReadyServer) -> int:
    found: int = server.servers[0].sockets[0].getsockname()[1]
    return found


def connect(server: ReadyServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port_of(server)), timeout=15)


def health(server: ReadyServer) -> int:
    return httpx2.get(f"http://127.0.0.1:{port_of(server)}/healthz", timeout=5).status_code


def everything(connection: socket.socket) -> bytes:
    """Everything received until the other side closes the connection."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while chunk := connection.recv(1 << 16):
            found += chunk
    return found


def pour(connection: socket.socket, piece: bytes, most: int = PLENTY) -> int:
    """Send the same bytes repeatedly until the other side closes the connection."""
    sent = 0
    with contextlib.suppress(ConnectionError):
        while sent < most:
            connection.sendall(piece)
            sent += len(piece)
    return sent


@contextmanager
def flat_memory(most_bytes: int = 50 << 20) -> Iterator[None]:
    """Assert that this process, which runs the server, does not grow by more."""
    gc.collect()
    process = psutil.Process()
    before, peak = process.memory_info().rss, 0
    over = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.01):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    assert peak - before < most_bytes


# Time.


@pytest.mark.parametrize("server", [{Awaited.HEAD: 0.3}], indirect=True, ids=["0.3 s"])
def test_connection_is_closed_when_headers_do_not_arrive(server: ReadyServer) -> None:
    with connect(server) as mute, connect(server) as half, connect(server) as idle:
        half.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
        idle.sendall(b"GET /healthz HTTP/1.1\r\n" + HEAD + b"\r\n")
        assert everything(mute) == b""
        assert everything(half).startswith(b"HTTP/1.1 408 Request Timeout\r\n")
        answered = everything(idle)
        assert answered.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answered.count(b"HTTP/1.1") == 1
    wait_for("nobody is left", lambda: server.bounds.clients == 0)


@pytest.mark.parametrize("path", [b"/api/v1/sweeps", b"/api/v1/bundles"])
def test_request_is_408_when_body_does_not_arrive(server: ReadyServer, path: bytes) -> None:
    incoming(server).max_s = 0.3
    with connect(server) as slow:
        slow.sendall(b"POST " + path + b" HTTP/1.1\r\n" + HEAD + b"Content-Type: application/json\r\n")
        slow.sendall(b"Content-Length: 100\r\nConnection: close\r\n\r\n{")
        assert everything(slow).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("server", [{Awaited.REST: 0.3}], indirect=True, ids=["0.3 s"])
def test_reading_of_refused_body_is_bounded(server: ReadyServer) -> None:
    with connect(server) as slow:
        slow.sendall(b"POST /api/v1/nothing HTTP/1.1\r\n" + HEAD + b"Content-Length: 1000000\r\n\r\n")
        wait_for("it is cut", lambda: pour(slow, b"x", 1) == 0)
    wait_for("nobody is left", lambda: server.bounds.clients == 0)


@pytest.mark.parametrize("server", [{Awaited.READING: 0.5}], indirect=True, ids=["0.5 s"])
def test_client_that_does_not_read_is_disconnected(rig: ServiceRig, server: ReadyServer) -> None:
    sweep_id = rig.sweep()
    rig.trial(sweep_id, 0, 0.5, log="x" * 1000 + "\n")
    with connect(server) as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = b"GET /openapi.json HTTP/1.1\r\n" + HEAD + b"\r\n"
        pour(stuck, request, 4000 * len(request))
        wait_for("it is cut", lambda: server.bounds.clients == 0)
    assert health(server) == 200


# Number.


def test_idle_connections_are_closed_for_new_ones(server: ReadyServer) -> None:
    server.bounds.max_clients = 20
    with ExitStack() as stack:
        for _ in range(10):
            for _ in range(30):
                stack.enter_context(connect(server))
            assert health(server) == 200
            assert server.bounds.clients <= 22


def test_active_request_keeps_its_connection_and_new_one_is_503(server: ReadyServer) -> None:
    server.bounds.max_clients = 3
    with ExitStack() as stack:
        streams = [stack.enter_context(connect(server)) for _ in range(3)]
        for stream in streams:
            stream.sendall(b"GET /api/v1/events HTTP/1.1\r\n" + HEAD + b"\r\n")
            assert stream.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n")
        refused = everything(stack.enter_context(connect(server)))
        assert refused.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert b"retry-after: 1\r\n" in refused
        assert json.loads(refused.partition(b"\r\n\r\n")[2])["title"] == "Too many connections"
        streams.pop().close()
        wait_for("a place is free", lambda: server.bounds.clients < 3)
        assert health(server) == 200


def test_stream_over_limit_is_503(rig: ServiceRig) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(serving(rig, streams=StreamLimits(streams=2)))
        answers = []
        for _ in range(3):
            stream = stack.enter_context(connect(server))
            stream.sendall(b"GET /api/v1/events HTTP/1.1\r\n" + HEAD + b"\r\n")
            answers.append(stream.recv(4096))
        assert [int(answer.split()[1]) for answer in answers] == [200, 200, 503]
        assert b"retry-after: 1\r\n" in answers[2]


# Size.

ENDLESS = {
    "a field": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ", b"x" * 4000, 431),
    "fields": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X: y\r\n" * 700, 431),
    "the name of a field": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"x" * 4000, 431),
    "an address": (b"GET /healthz?", b"x" * 4000, 431),
    "empty lines": (b"", b"\r\n" * 2000, 431),
    "a body": (POST + CHUNKED + b"\r\n", b"fff0\r\n" + b"x" * 0xFFF0 + b"\r\n", 413),
    "a body that says how long it is": (POST + LARGE, b"x" * 65536, 413),
    "a bundle": (POST.replace(b"sweeps", b"bundles") + LARGE, b"x" * 65536, 413),
    "fields after a body": (POST + CHUNKED + b"\r\n2\r\n{}\r\n0\r\n", b"X: y\r\n" * 700, None),
    "a field after a body": (POST + CHUNKED + b"\r\n2\r\n{}\r\n0\r\nX: ", b"x" * 4000, None),
    "words in a chunk's head": (POST + CHUNKED + b"\r\n2;x=", b"x" * 4000, None),
}


@pytest.mark.parametrize(("head", "piece", "status"), ENDLESS.values(), ids=ENDLESS)
@pytest.mark.parametrize("server", [{Awaited.REST: 0.5}], indirect=True, ids=["0.5 s"])
def test_endless_requests_are_cut_off_with_bounded_memory(
    server: ReadyServer, head: bytes, piece: bytes, status: int | None
) -> None:
    room = 100 << 20 if "bundles" in head.decode() else 50 << 20  # a bundle is held, to 64 MB
    with connect(server) as connection, flat_memory(room):
        connection.sendall(head)
        poured = threading.Thread(target=pour, args=(connection, piece))
        poured.start()
        answer = everything(connection)
        poured.join(30)
        assert not poured.is_alive()
    assert (int(answer.split()[1]) if answer else None) == status
    wait_for("nobody is left", lambda: server.bounds.clients == 0)
    assert health(server) == 200


def test_endless_pipelined_requests_are_cut_off(server: ReadyServer) -> None:
    with connect(server) as connection, flat_memory():
        pour(connection, b"GET /api/v1/devices HTTP/1.1\r\n" + HEAD + b"\r\n", 100 << 20)
    assert health(server) == 200


def test_pipelined_requests_are_answered_in_order(server: ReadyServer) -> None:
    with connect(server) as connection:
        connection.sendall((b"GET /healthz HTTP/1.1\r\n" + HEAD + b"\r\n") * (connection_limits.MAX_PIPELINED - 1))
        connection.sendall(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n" + HEAD + b"\r\n")
        assert everything(connection).count(b"HTTP/1.1 200 OK\r\n") == connection_limits.MAX_PIPELINED


def test_total_size_of_request_bodies_is_bounded(server: ReadyServer) -> None:
    incoming(server).max_bytes = 3 << 20
    part = b"POST /api/v1/sweeps HTTP/1.1\r\n" + HEAD + b"Content-Length: 1000000\r\n\r\n" + b" " * 999_000
    with ExitStack() as stack:
        senders = [stack.enter_context(connect(server)) for _ in range(5)]
        for sender in senders:
            sender.sendall(part)
        said = [sender for sender in senders if _answers(sender)]
        assert len(said) >= 2  # those whose next chunk arrived above the limit
        assert {int(sender.recv(4096).split()[1]) for sender in said} == {429}
    wait_for("nobody is left", lambda: server.bounds.clients == 0)
    # A request notices in a later turn of the event loop that its connection is closed.
    wait_for("no body is counted", lambda: incoming(server).received_bytes == 0)


def incoming(server: ReadyServer) -> IncomingBodies:
    """The request bodies that the server is receiving."""
    found: IncomingBodies = cast(FastAPI, server.config.app).state.incoming_bodies
    return found


def _answers(sender: socket.socket) -> bool:
    sender.settimeout(1.0)
    try:
        return bool(sender.recv(1, socket.MSG_PEEK))
    except TimeoutError:
        return False


# All limits together, on a real service; `PODIUM_SLOW_CLIENTS=10000 pytest -s` for the figure.


@pytest.mark.slow
def test_health_responds_within_a_second_under_slow_clients(tmp_path: Path) -> None:
    with RunningService(tmp_path / "data") as running:
        urls: dict[str, str] = json.loads(running.data.service_file.read_text())
        for name, url in (("api", urls["url"]), ("gateway", urls["gateway_url"])):
            process = psutil.Process(running.pid(name))
            before = process.memory_info().rss
            slowest_s = _besiege(url)
            grown = process.memory_info().rss - before
            print(f"{name}: {SLOW_CLIENTS} slow clients, /healthz in {slowest_s:.3f} s, +{grown / 1e6:.0f} MB")
            assert slowest_s < (1 if CAMPAIGN else 10)
            assert grown < 200 << 20
            assert running.pid(name) == process.pid


def _healthz(host: str, port: int) -> int:
    with socket.create_connection((host, port), timeout=10) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return int(everything(connection).split()[1])


def _besiege(url: str) -> float:
    """The slowest of many requests to /healthz while N clients connect, and for a while afterwards."""
    at = httpx2.URL(url)
    command = [sys.executable, "-m", "tests.slow_clients", at.host, str(at.port), str(SLOW_CLIENTS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as siege:
        assert siege.stdout is not None
        try:
            slowest_s, end = 0.0, math.inf
            while time.monotonic() < end:
                began = time.monotonic()
                assert _healthz(at.host, at.port or 80) == 200
                slowest_s = max(slowest_s, time.monotonic() - began)
                if end == math.inf and select.select([siege.stdout], [], [], 0.1)[0]:
                    assert siege.stdout.readline() == b"all came\n"
                    end = time.monotonic() + (25 if CAMPAIGN else 12)
        finally:
            siege.kill()
    return slowest_s
