"""Predictions answered without ASGI on real sockets: the responses are those of the app, except for times."""

from __future__ import annotations

import asyncio
import gc
import io
import itertools
import json
import re
import socket
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import pytest
from starlette.types import Scope

from podium.api.gateway import main, podium_format_prediction_routes
from podium.api.http import readiness_reporting_server
from podium.api.http.allowed_host_names import HostNames
from podium.api.http.browser_security_middleware import GuardedApp
from podium.api.http.handler_interface_without_asgi import Cancel, HandlerWithoutAsgi, Respond
from podium.api.http.protocol_without_asgi import ProtocolWithoutAsgi
from podium.api.http.readiness_reporting_server import ReadyServer
from podium.api.http.request_limits import INLINE_SIZE
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.aggregator_limits import AggregatorLimits
from podium.ensemble.values.prediction import Outcome
from podium.ensemble.worker.inference_server import WorkerServer
from tests.ensemble_fakes import FakeNetwork
from tests.running_service import wait_for
from tests.service_rig import ServiceRig

PATH = "/api/v1/ensembles/1/predict"
ROWS = json.dumps({"inputs": [[0.25, 0, 0], [1, 0, 0]]}).encode()
TOKEN = "Authorization: Bearer token-of-viewer"
_ERROR_ID = re.compile(rb"[0-9a-f]{8,}")
_MEASURED = re.compile(rb'"(total_ms|queue_ms|compute_ms)":[0-9.e-]+')


class Spy:
    """Notes of each request whether the handler began to answer it."""

    def __init__(self, handler: HandlerWithoutAsgi) -> None:
        self._handler = handler
        self.started: list[bool] = []

    def __call__(self, scope: Scope, body: bytes, respond: Respond) -> Cancel | None:
        cancel = self._handler(scope, body, respond)
        self.started.append(cancel is not None)
        return cancel


class Gateway:
    """A gateway on a port of its own, with the direct handler or without."""

    def __init__(self, server: ReadyServer, app: GuardedApp) -> None:
        self.app = app
        self.address: tuple[str, int] = server.servers[0].sockets[0].getsockname()[:2]

    @property
    def aggregator(self) -> Aggregator:
        found: Aggregator = self.app.state.aggregator
        return found

    @property
    def outcomes(self) -> set[Outcome]:
        """Those that requests for the ensemble have had."""
        (counts,) = self.aggregator.counts.ensembles.values()
        return {outcome for outcome, count in counts.outcomes.items() if count}

    @property
    def started(self) -> list[bool]:
        """Of each request that the handler saw, whether it was answered directly."""
        assert isinstance(self.app.handler_without_asgi, Spy)
        return self.app.handler_without_asgi.started

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=20)

    def ask(self, content: bytes, *more: bytes) -> bytes:
        """The response to a request, sent in one piece or in several."""
        with self.connect() as connection, connection.makefile("rb") as stream:
            for part in (content, *more):
                connection.sendall(part)
            return response(stream)

    def know_tokens(self) -> None:
        """Send a request for each token, so that the gateway has looked it up."""
        for role in ("viewer", "submitter", "admin"):
            assert self.ask(request(ROWS, authorization=f"Authorization: Bearer token-of-{role}")).startswith(
                b"HTTP/1.1 200"
            )


def response(stream: Any) -> bytes:
    """The next response of a connection: status line, sorted headers and body, without its date and times."""
    lines = [stream.readline()]
    while (line := stream.readline()) not in (b"\r\n", b""):
        lines.append(line)
    length = next((int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:")), 0)
    body = stream.read(length)
    kept = sorted(line for line in lines[1:] if not line.lower().startswith((b"date:", b"content-length:")))
    return b"".join([lines[0], *kept, b"\r\n", _MEASURED.sub(b"", body)])


def request(
    body: bytes = ROWS, path: str = PATH, *headers: str, authorization: str = TOKEN, host: str = "localhost",
    first: str = "POST {path} HTTP/1.1",
) -> bytes:  # fmt: skip
    lines = [first.format(path=path), f"Host: {host}", authorization, f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([line for line in lines if line] + ["", ""]).encode() + body


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceRig]:
    opened = ServiceRig(tmp_path_factory.mktemp("direct"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def networks(rig: ServiceRig) -> Iterator[list[FakeNetwork]]:
    """The networks of ensemble 1: three members, two of them a quorum, each served in a thread of this process."""
    sweep_id = rig.sweep()
    ensemble_id = rig.ensemble(sweep_id, [rig.trial(sweep_id, number, 0.5) for number in range(3)], deadline_ms=20_000)
    made = [FakeNetwork() for _ in range(3)]
    endpoints = [f"unix:{rig.settings.runtime.replica_socket(number, 1)}" for number in range(3)]
    servers = [WorkerServer(endpoint, 1, network) for endpoint, network in zip(endpoints, made, strict=True)]
    for server in servers:
        server.start()
    rig.ready(ensemble_id, endpoints)
    yield made
    for network, server in zip(made, servers, strict=True):
        network.gate.set()
        server.close()


class AsIfTls(ProtocolWithoutAsgi):
    """Connections as a TLS socket would have them."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.scheme = "https"


class Unwritable:
    """A transport that cannot write."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def write(self, _: bytes) -> None:
        raise RuntimeError("unexpected")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


@contextmanager
def serving(
    rig: ServiceRig, *, direct: bool, limits: AggregatorLimits | None = None,
    protocol: type[ProtocolWithoutAsgi] = ProtocolWithoutAsgi, host: str = "localhost",
) -> Iterator[Gateway]:  # fmt: skip
    app = main.create_app(rig.settings, rig.database, limits)
    assert isinstance(app, GuardedApp)
    assert app.handler_without_asgi is not None
    app.allowed_host_names = HostNames((host,))
    app.handler_without_asgi = Spy(app.handler_without_asgi) if direct else None
    server = ReadyServer(readiness_reporting_server.config(app, rig.settings, protocol))
    thread = threading.Thread(target=server.run, args=([readiness_reporting_server.tcp("127.0.0.1", 0)],))
    thread.start()
    wait_for("the server listens", lambda: server.servers if server.started else None)
    try:
        yield Gateway(server, app)
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def _gateway(rig: ServiceRig, networks: list[FakeNetwork]) -> Iterator[Gateway]:
    with serving(rig, direct=True) as found:
        yield found


@pytest.fixture
def gateway(_gateway: Gateway) -> Gateway:
    """The gateway with the direct handler; it has looked up all tokens."""
    _gateway.know_tokens()
    del _gateway.started[:]
    return _gateway


@pytest.fixture(autouse=True)
def _networks_answer_again(networks: list[FakeNetwork]) -> Iterator[None]:
    yield
    for network in networks:
        network.gate.set()
        network.broken.clear()


@pytest.fixture(scope="module")
def plain(rig: ServiceRig, networks: list[FakeNetwork]) -> Iterator[Gateway]:
    """A gateway whose requests are all answered by the app."""
    with serving(rig, direct=False) as found:
        yield found


def npy() -> bytes:
    content = io.BytesIO()
    np.save(content, np.zeros((1, 3), np.float32))
    return content.getvalue()


LARGE = json.dumps({"inputs": [[0.125, 0.25, 0.5]] * (INLINE_SIZE // 16)}).encode()
DIRECT = {
    "rows": request(),
    "by_name": request(path="/api/v1/ensembles/small-1/predict"),
    "deadline": request(json.dumps({"inputs": [[1, 2, 3]], "deadline_ms": 5000}).encode()),
    "encoded_path": request(path="/api/v1/ensembles/small%2D1/predict"),
    "as_admin": request(authorization="authorization: bearer   token-of-admin  "),
    "no_keep_alive": request(ROWS, PATH, "Connection: close"),
    "http_1_0": request(first="POST {path} HTTP/1.0"),
    "same_origin": request(ROWS, PATH, "Origin: http://localhost", "Sec-Fetch-Site: same-origin"),
    "cookie_and_others": request(ROWS, PATH, "Cookie: podium=x", "X-Request-Id: 7", "Accept: */*"),
}
DECLINED = {
    "other_route": request(path="/healthz"),
    "get": request(b"", first="GET {path} HTTP/1.1"),
    "query": request(path=f"{PATH}?members=true"),
    "invalid_query": request(path=f"{PATH}?version=x"),
    "unknown_ensemble": request(path="/api/v1/ensembles/77/predict"),
    "unknown_name": request(path="/api/v1/ensembles/nobody/predict"),
    "id_out_of_range": request(path=f"/api/v1/ensembles/{'9' * 5000}/predict"),
    "no_json": request(b"{"),
    "no_rows": request(b"{}"),
    "two_features": request(b'{"inputs": [[1, 2]]}'),
    "not_finite": request(b'{"inputs": [[1, 2, 1e999]]}'),
    "duplicate_key": request(b'{"inputs": [[1, 2, 3]], "inputs": [[1, 2, 3]]}'),
    "deadline_out_of_range": request(b'{"inputs": [[1, 2, 3]], "deadline_ms": 0}'),
    "no_token": request(authorization=""),
    "unknown_token": request(authorization="Authorization: Bearer guessed"),
    "other_scheme": request(authorization="Authorization: Basic dG9rZW4="),
    "first_of_two_tokens_counts": request(ROWS, PATH, TOKEN, authorization="Authorization: Bearer guessed"),
    "unknown_host": request(host="evil.example"),
    "other_origin": request(ROWS, PATH, "Origin: http://evil.example"),
    "cross_site": request(ROWS, PATH, "Sec-Fetch-Site: cross-site"),
    "npy": request(npy(), PATH, "Content-Type: application/x-npy"),
    "npy_response": request(ROWS, PATH, "Accept: application/x-npy"),
    "large": request(LARGE),
    "large_response": request(json.dumps({"inputs": [[1, 0, 0]] * (INLINE_SIZE // 96 + 1)}).encode()),
}


@pytest.mark.parametrize(("content", "started"), [
    *(pytest.param(content, True, id=name) for name, content in DIRECT.items()),
    *(pytest.param(content, False, id=name) for name, content in DECLINED.items()),
])  # fmt: skip
def test_response_is_that_of_the_app(gateway: Gateway, plain: Gateway, content: bytes, started: bool) -> None:
    found = gateway.ask(content)
    assert gateway.started == ([started] if len(content) < INLINE_SIZE else [])  # a large body arrives in parts
    assert found == plain.ask(content)


def test_token_is_looked_up_by_the_app_first(rig: ServiceRig, networks: list[FakeNetwork]) -> None:
    with serving(rig, direct=True) as gateway:
        assert [gateway.ask(request())[:12] for _ in range(2)] == [b"HTTP/1.1 200"] * 2
        assert gateway.started == [False, True]
        gateway.app.state.authenticator.clear_cache()  # a token was revoked
        gateway.ask(request())
        assert gateway.started == [False, True, False]


def test_response_under_tls_is_that_of_the_app(rig: ServiceRig, networks: list[FakeNetwork]) -> None:
    found = []
    for direct in (True, False):
        with serving(rig, direct=direct, protocol=AsIfTls, host="box.example") as gateway:
            found.append([gateway.ask(request(host="box.example")) for _ in range(2)][1])
            assert not direct or gateway.started == [False, True]
    assert found[0] == found[1]
    assert b"strict-transport-security: max-age=31536000\r\n" in found[0]


@pytest.mark.parametrize("broken", [2, 3])
def test_refusal_is_that_of_the_app(gateway: Gateway, plain: Gateway, networks: list[FakeNetwork], broken: int) -> None:
    for network in networks[:broken]:
        network.broken[0] = "it broke"
    found = gateway.ask(request())
    assert found.startswith(b"HTTP/1.1 503 ")
    assert b"content-type: application/problem+json\r\n" in found
    assert gateway.started == [True]
    assert found == plain.ask(request())


def test_late_prediction_is_refused_at_its_deadline(gateway: Gateway, networks: list[FakeNetwork]) -> None:
    for network in networks:
        network.gate.clear()
    found = gateway.ask(request(b'{"inputs": [[1, 2, 3]], "deadline_ms": 50}'))
    assert found.startswith(b"HTTP/1.1 504 ")
    assert gateway.aggregator.in_flight == 0


def test_shed_request_is_answered_at_once(rig: ServiceRig, networks: list[FakeNetwork]) -> None:
    with serving(rig, direct=True, limits=AggregatorLimits(requests=1)) as gateway:
        gateway.know_tokens()
        for network in networks:
            network.gate.clear()
        with gateway.connect() as first, first.makefile("rb") as stream:
            first.sendall(request())
            wait_for("the first is in flight", lambda: gateway.aggregator.in_flight == 1)
            assert gateway.ask(request()).startswith(b"HTTP/1.1 429 ")
            for network in networks:
                network.gate.set()
            assert response(stream).startswith(b"HTTP/1.1 200 ")


def test_disconnected_client_frees_its_place(gateway: Gateway, networks: list[FakeNetwork]) -> None:
    for network in networks:
        network.gate.clear()
    with gateway.connect() as client:
        client.sendall(request())
        wait_for("it is in flight", lambda: gateway.aggregator.in_flight == 1)
    wait_for("its place is free", lambda: gateway.aggregator.in_flight == 0)
    for network in networks:
        network.gate.set()
    assert gateway.ask(request()).startswith(b"HTTP/1.1 200 ")


def test_client_that_disconnects_after_a_body_of_many_rows_frees_its_place(
    rig: ServiceRig, networks: list[FakeNetwork]
) -> None:
    """uvicorn pauses reading after 64 KB, and would not notice the disconnect before the deadline."""
    with serving(rig, direct=True) as gateway:
        gateway.know_tokens()
        _disconnect_after_many_rows(gateway, networks)


def _disconnect_after_many_rows(gateway: Gateway, networks: list[FakeNetwork]) -> None:
    content = request(json.dumps({"inputs": [[0.123456789012345678] * 3] * 1500}).encode())
    assert 1 << 16 < len(content) < INLINE_SIZE
    for network in networks:
        network.gate.clear()
    for _ in range(50):  # a body that arrives in parts is answered by the app
        with gateway.connect() as client:
            client.sendall(content)
            wait_for("it is in flight", lambda: gateway.aggregator.in_flight == 1)
        wait_for("its place is free", lambda: gateway.aggregator.in_flight == 0)
        assert Outcome.DEADLINE not in gateway.outcomes
        if gateway.started[-1]:
            return
    raise AssertionError("every body arrived in parts")


def test_connection_keeps_no_body_and_no_reference_cycle(rig: ServiceRig, networks: list[FakeNetwork]) -> None:
    seen: list[weakref.ref[ProtocolWithoutAsgi]] = []

    class Watched(ProtocolWithoutAsgi):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            seen.append(weakref.ref(self))

    with serving(rig, direct=True, protocol=Watched) as gateway:
        gateway.know_tokens()
        gc.disable()
        try:
            with gateway.connect() as client, client.makefile("rb") as stream:
                client.sendall(request())
                assert response(stream).startswith(b"HTTP/1.1 200 ")
                protocol = seen[-1]()
                assert protocol is not None and protocol.cycle is not None
                assert not protocol.cycle.body
                del protocol
            assert gateway.started[-1]
            wait_for("the connection is forgotten", lambda: seen[-1]() is None)
        finally:
            gc.enable()


@pytest.mark.parametrize("fails", ["admit", "read_rows"])
def test_unexpected_error_is_answered(
    gateway: Gateway, plain: Gateway, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("unexpected")

    with monkeypatch.context() as patch:
        for each in (gateway, plain):
            target: object = each.aggregator if fails == "admit" else podium_format_prediction_routes
            patch.setattr(target, fails, fail)
        found, expected = (_ERROR_ID.sub(b"", each.ask(request())) for each in (gateway, plain))
    assert found.startswith(b"HTTP/1.1 500 ")
    assert found == expected
    assert gateway.ask(request()).startswith(b"HTTP/1.1 200 ")


def test_connection_that_cannot_be_written_is_aborted(rig: ServiceRig, networks: list[FakeNetwork]) -> None:
    numbers = itertools.count(1)

    class SecondIsBroken(ProtocolWithoutAsgi):
        """The second connection cannot be written."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(cast(Any, Unwritable(transport)) if next(numbers) == 2 else transport)

    with serving(rig, direct=True, protocol=SecondIsBroken) as gateway:
        gateway.ask(request())  # by the app, which looks up the token
        assert gateway.ask(request()) == b"\r\n"  # the connection was closed
        assert gateway.ask(request()).startswith(b"HTTP/1.1 200 ")
        assert gateway.started == [False, True, True]
        assert gateway.aggregator.in_flight == 0


def test_pipelined_requests_are_answered_in_order(gateway: Gateway) -> None:
    bodies = [json.dumps({"inputs": [[value, 0, 0]]}).encode() for value in (0.25, 0.5, 0.75)]
    with gateway.connect() as client, client.makefile("rb") as stream:
        client.sendall(b"".join(map(request, bodies)))
        found = [json.loads(_whole(stream))["outputs"][0][0] for _ in bodies]
    assert found == [0.25, 0.5, 0.75]


def test_requests_of_one_connection_follow_each_other(gateway: Gateway) -> None:
    with gateway.connect() as client, client.makefile("rb") as stream:
        for _ in range(3):  # answered directly, by the app, directly, …
            for content in (request(), request(path="/healthz", first="GET {path} HTTP/1.1"), request(b"{")):
                client.sendall(content)
                assert response(stream)[:12] in (b"HTTP/1.1 200", b"HTTP/1.1 400")
    assert gateway.started == [True, False, False] * 3


@pytest.mark.parametrize("cut", [10, len(request()) - 5])
def test_request_that_arrives_in_parts_is_answered(gateway: Gateway, cut: int) -> None:
    with gateway.connect() as client, client.makefile("rb") as stream:
        client.sendall(request()[:cut])
        threading.Event().wait(0.2)
        client.sendall(request()[cut:])
        assert response(stream) == gateway.ask(request())


def test_expectation_is_met_before_the_body(gateway: Gateway) -> None:
    head, _, body = request(ROWS, PATH, "Expect: 100-continue").partition(b"\r\n\r\n")
    with gateway.connect() as client, client.makefile("rb") as stream:
        client.sendall(head + b"\r\n\r\n")
        assert stream.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert stream.readline() == b"\r\n"
        client.sendall(body)
        assert response(stream).startswith(b"HTTP/1.1 200 ")


def _whole(stream: Any) -> bytes:
    """The body of the next response."""
    length = 0
    while (line := stream.readline()) not in (b"\r\n", b""):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    found: bytes = stream.read(length)
    return found
