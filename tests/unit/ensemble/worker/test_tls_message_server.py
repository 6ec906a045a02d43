"""Which clients a worker accepts on TCP, and for how long a connection may be silent."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.ensemble.protocol.framing import framed
from podium.ensemble.protocol.remote_worker_endpoint import HEARTBEAT, TlsEndpoint
from podium.ensemble.worker.tls_message_server import TLS_LIMITS, TlsLimits, TlsMessageServer
from podium.sweep.runtime.certificate_pin import is_pinned
from tests.certificates import HOST, Identity
from tests.message_client import PATIENCE_S, MessageClient

QUICK = TlsLimits(handshake_s=0.2, silent_s=0.3, check_interval_s=0.05)
FEW = TlsLimits(handshake_s=600.0, unidentified=3)


class Worker:
    """A server that sends each message back."""

    def __init__(self, folder: Path, limits: TlsLimits) -> None:
        self.node, self.head, self.stranger = (Identity.make(folder, name) for name in ("node", "head", "stranger"))
        self.server = TlsMessageServer(self.node.listening(self.head), limits=limits)
        self.server.bind()
        self.endpoint = self.server.endpoint
        self.received: list[list[bytes]] = []
        self._over = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._over:
            for sender, frames in self.server.receive():
                self.received.append(frames)
                self.server.send(sender, [*frames])

    def connect(self) -> socket.socket:
        """A connection without TLS."""
        where = TlsEndpoint.parse(self.endpoint)
        return socket.create_connection((where.host, where.port), timeout=PATIENCE_S)

    def close(self) -> None:
        self._over = True
        self.server.stop_receiving()
        self._thread.join(30)
        self.server.close()


@pytest.fixture
def worker(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Worker]:
    """With the usual limits, or those that a test names."""
    started = Worker(tmp_path, getattr(request, "param", TLS_LIMITS))
    yield started
    started.close()


def test_gateway_and_worker_prove_their_identities(worker: Worker) -> None:
    client = MessageClient(worker.endpoint, worker.head.connecting)
    assert isinstance(client.socket, ssl.SSLSocket) and client.socket.version() == "TLSv1.3"
    assert is_pinned(client.socket, worker.node.fingerprint)
    assert not is_pinned(client.socket, worker.stranger.fingerprint)
    client.send([b"request"])
    assert client.receive() == [b"request"]
    client.close()


def test_another_key_is_refused(worker: Worker) -> None:
    client = MessageClient(worker.endpoint, worker.stranger.connecting)
    with pytest.raises(OSError, match="alert"):
        client.send([b"request"])
        client.receive()
    client.close()
    assert worker.received == []


def test_client_without_a_certificate_is_refused(worker: Worker) -> None:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    client = MessageClient(worker.endpoint, context)
    with pytest.raises(OSError, match="alert"):
        client.send([b"request"])
        client.receive()
    client.close()
    assert worker.received == []


def test_messages_without_tls_are_refused(worker: Worker) -> None:
    with worker.connect() as plain:
        plain.sendall(b"".join(framed([b"request"])) * 10)
        _until_closed(plain)
    assert worker.received == []


@pytest.mark.parametrize("worker", [QUICK], indirect=True)
def test_slow_handshake_is_ended(worker: Worker) -> None:
    with worker.connect() as silent, worker.connect() as slow:
        slow.sendall(b"\x16\x03\x01")  # the first bytes of a handshake
        _until_closed(silent)
        _until_closed(slow)


@pytest.mark.parametrize("worker", [FEW], indirect=True)
def test_unidentified_connections_are_few_and_do_not_lock_gateways_out(worker: Worker) -> None:
    with contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(worker.connect()) for _ in range(8)]
        client = MessageClient(worker.endpoint, worker.head.connecting)
        client.send([b"request"])
        assert client.receive() == [b"request"]
        for oldest in waiting[:6]:
            _until_closed(oldest)
        client.close()


def test_heartbeat_is_answered_and_is_no_message(worker: Worker) -> None:
    client = MessageClient(worker.endpoint, worker.head.connecting)
    heartbeat = b"".join(framed(HEARTBEAT))
    client.socket.sendall(heartbeat)
    assert client.socket.recv(100) == heartbeat
    assert worker.received == []
    client.close()


@pytest.mark.parametrize("worker", [QUICK], indirect=True)
def test_gateway_that_was_cut_off_is_forgotten(worker: Worker) -> None:
    """Half open: no packet says that the other side is gone."""
    client, other = (MessageClient(worker.endpoint, worker.head.connecting) for _ in range(2))
    client.send([b"request"])
    assert client.receive() == [b"request"]
    with pytest.raises(ConnectionError, match="closed"):
        client.receive()
    client.close()
    other.close()


def test_port_is_in_the_range(tmp_path: Path) -> None:
    node, head = Identity.make(tmp_path, "node"), Identity.make(tmp_path, "head")
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        server = TlsMessageServer(node.listening(head, port))
        with pytest.raises(OSError, match=rf"no port of {port} to {port} is free at {HOST}"):
            server.bind()
        server.close()


def _until_closed(connection: socket.socket) -> None:
    connection.settimeout(PATIENCE_S)
    with contextlib.suppress(ConnectionError):
        while connection.recv(1 << 16):
            pass
