"""The worker's sockets, Unix and TLS: several gateways, replies from other threads, gateways that do not read."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.ensemble.protocol.framing import unix_endpoint
from podium.ensemble.worker.message_server import MAX_UNSENT_BYTES, MessageServer
from podium.ensemble.worker.tls_message_server import TlsMessageServer
from tests.certificates import Identity
from tests.message_client import MessageClient


class Listening:
    """An endpoint of one kind: makes servers and gateways."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._path = folder / "s"
        self.is_tls = kind == "tls"
        if self.is_tls:
            self.node, self.head = Identity.make(folder, "node"), Identity.make(folder, "head")
        self.endpoint = ""  # of the last server

    def server(self, max_unsent_bytes: int = MAX_UNSENT_BYTES) -> MessageServer:
        """A new server, which is bound."""
        made = (
            TlsMessageServer(self.node.listening(self.head), max_unsent_bytes)
            if self.is_tls
            else MessageServer(unix_endpoint(self._path), max_unsent_bytes)
        )
        made.bind()
        self.endpoint = made.endpoint
        return made

    def client(self) -> MessageClient:
        """A gateway that is connected to the last server."""
        return MessageClient(self.endpoint, self.head.connecting if self.is_tls else None)


class Echo:
    """A server that sends each message back from another thread, and records them."""

    def __init__(self, server: MessageServer) -> None:
        self.server = server
        self.received: list[tuple[int, list[bytes]]] = []
        self.answers = True
        self._over = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._over:
            for sender, frames in self.server.receive():
                self.received.append((sender, frames))
                if self.answers and frames:
                    threading.Thread(target=self.server.send, args=(sender, frames)).start()

    def close(self) -> None:
        self._over = True
        self.server.stop_receiving()
        self._thread.join(30)
        self.server.close()


@pytest.fixture(params=["unix", "tls"])
def listening(tmp_path: Path, request: pytest.FixtureRequest) -> Listening:
    return Listening(tmp_path, request.param)


@pytest.fixture
def echo(listening: Listening, request: pytest.FixtureRequest) -> Iterator[Echo]:
    """A running server; the parameter limits the unsent bytes of a connection."""
    started = Echo(listening.server(getattr(request, "param", MAX_UNSENT_BYTES)))
    yield started
    started.close()


def test_many_unsent_replies_arrive_complete_and_in_order(echo: Echo, listening: Listening) -> None:
    """More buffers than the kernel accepts in one call wait for a gateway that does not read."""
    client = listening.client()
    client.send([b"hello"])
    assert client.receive() == [b"hello"]
    sender = echo.received[0][0]
    replies = [[b"%d" % number, bytes(1000)] for number in range(2000)]
    for reply in replies:
        echo.server.send(sender, [*reply])
    assert [client.receive() for _ in replies] == replies
    client.close()


def test_each_sender_gets_its_own_replies(echo: Echo, listening: Listening) -> None:
    clients = [listening.client() for _ in range(3)]
    for number, client in enumerate(clients):
        client.send([b"from", str(number).encode()])
    assert [client.receive() for client in clients] == [[b"from", b"0"], [b"from", b"1"], [b"from", b"2"]]
    assert len({sender for sender, _ in echo.received}) == 3
    for client in clients:
        client.close()


def test_reply_that_does_not_fit_the_socket_is_sent_when_the_gateway_reads(echo: Echo, listening: Listening) -> None:
    client = listening.client()
    large = bytes(range(256)) * 40_000
    threading.Thread(target=client.send, args=([large],)).start()
    assert client.receive() == [large]
    client.send([b"small"])
    assert client.receive() == [b"small"]
    client.close()


@pytest.mark.parametrize("echo", [1 << 20], indirect=True)
def test_gateway_that_does_not_read_loses_further_replies_only(echo: Echo, listening: Listening) -> None:
    echo.answers = False
    client, other = listening.client(), listening.client()
    client.send([b"hello"])
    other.send([b"hello"])
    other.send([b"done"])
    while len(echo.received) < 3:
        pass
    senders = {sender for sender, _ in echo.received}
    for number in range(64):
        for sender in senders:
            echo.server.send(sender, [str(number).encode(), bytes(1 << 17)])
        assert other.receive() == [str(number).encode(), bytes(1 << 17)]
    echo.answers = True
    client.send([b"end"])
    found = []
    while (frames := client.receive()) != [b"end"]:
        found.append(int(frames[0]))
        client.send([b"end"])
    assert found == list(range(len(found)))
    assert 8 <= len(found) < 64
    client.close()
    other.close()


def test_garbage_disconnects_its_sender_only(echo: Echo, listening: Listening) -> None:
    client, other = listening.client(), listening.client()
    client.socket.sendall(struct.pack("!I", 0))
    with pytest.raises(ConnectionError):
        client.receive()
    while not echo.received:
        pass
    assert [frames for _, frames in echo.received] == [[]]
    other.send([b"sound"])
    assert other.receive() == [b"sound"]
    client.close()
    other.close()


def test_reply_to_a_gateway_that_is_gone_is_dropped(echo: Echo, listening: Listening) -> None:
    echo.answers = False
    client = listening.client()
    client.send([b"hello"])
    while not echo.received:
        pass
    client.close()
    for _ in range(100):
        echo.server.send(echo.received[0][0], [b"late"])
    echo.answers = True
    other = listening.client()
    other.send([b"sound"])
    assert other.receive() == [b"sound"]
    other.close()


@pytest.mark.parametrize("listening", ["unix"], indirect=True)
def test_socket_file_of_a_dead_worker_is_replaced(listening: Listening) -> None:
    for _ in range(2):
        server = listening.server()
        client = listening.client()
        client.close()
        server.close()


@pytest.mark.parametrize("listening", ["unix"], indirect=True)
def test_connection_is_handled_by_one_thread_at_a_time(listening: Listening) -> None:
    """Also if a reply that does not fit is sent between the report of an event and its handling."""
    server = listening.server()
    clients = [listening.client() for _ in range(2)]
    numbers: dict[bytes, int] = {}
    for name, client in zip((b"a", b"b"), clients, strict=True):
        client.send([name])
        while name not in numbers:
            numbers |= {frames[0]: sender for sender, frames in server.receive()}
    for name, client in zip((b"a", b"b"), clients, strict=True):
        client.send([name])
    first = server.receive()  # both events; the second one is not handled yet
    (other,) = {b"a", b"b"} - {next(first)[1][0]}
    server.send(numbers[other], [b"x" * 4_000_000])
    second = server.receive()
    assert next(second) == (numbers[other], [other])
    assert list(first) == []
    clients[(b"a", b"b").index(other)].send([b"later"])
    server.stop_receiving()
    assert list(server.receive()) == []  # the event of `other` is still handled
    assert list(second) == []
    assert list(server.receive()) == [(numbers[other], [b"later"])]
    for client in clients:
        client.close()
    server.close()
