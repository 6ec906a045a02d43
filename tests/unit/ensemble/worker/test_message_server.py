"""The worker's socket: several gateways, replies from other threads, and gateways that do not read or send garbage."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.ensemble.protocol.framing import unix_endpoint
from podium.ensemble.worker.message_server import MAX_UNSENT_BYTES, MessageServer
from tests.message_client import MessageClient


class Echo:
    """A server that sends each message back from another thread, and records them."""

    def __init__(self, endpoint: str, max_unsent_bytes: int = MAX_UNSENT_BYTES) -> None:
        self.server = MessageServer(endpoint, max_unsent_bytes)
        self.server.bind()
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


@pytest.fixture
def endpoint(tmp_path: Path) -> str:
    return unix_endpoint(tmp_path / "s")


@pytest.fixture
def echo(endpoint: str, request: pytest.FixtureRequest) -> Iterator[Echo]:
    """A running server; the parameter limits the unsent bytes of a connection."""
    started = Echo(endpoint, getattr(request, "param", MAX_UNSENT_BYTES))
    yield started
    started.close()


def test_many_unsent_replies_arrive_complete_and_in_order(echo: Echo, endpoint: str) -> None:
    """More buffers than the kernel accepts in one call wait for a gateway that does not read."""
    client = MessageClient(endpoint)
    client.send([b"hello"])
    assert client.receive() == [b"hello"]
    sender = echo.received[0][0]
    replies = [[b"%d" % number, bytes(1000)] for number in range(2000)]
    for reply in replies:
        echo.server.send(sender, [*reply])
    assert [client.receive() for _ in replies] == replies
    client.close()


def test_each_sender_gets_its_own_replies(echo: Echo, endpoint: str) -> None:
    clients = [MessageClient(endpoint) for _ in range(3)]
    for number, client in enumerate(clients):
        client.send([b"from", str(number).encode()])
    assert [client.receive() for client in clients] == [[b"from", b"0"], [b"from", b"1"], [b"from", b"2"]]
    assert len({sender for sender, _ in echo.received}) == 3
    for client in clients:
        client.close()


def test_reply_that_does_not_fit_the_socket_is_sent_when_the_gateway_reads(echo: Echo, endpoint: str) -> None:
    client = MessageClient(endpoint)
    large = bytes(range(256)) * 40_000
    threading.Thread(target=client.send, args=([large],)).start()
    assert client.receive() == [large]
    client.send([b"small"])
    assert client.receive() == [b"small"]
    client.close()


@pytest.mark.parametrize("echo", [1 << 20], indirect=True)
def test_gateway_that_does_not_read_loses_further_replies_only(echo: Echo, endpoint: str) -> None:
    echo.answers = False
    client, other = MessageClient(endpoint), MessageClient(endpoint)
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


def test_garbage_disconnects_its_sender_only(echo: Echo, endpoint: str) -> None:
    client, other = MessageClient(endpoint), MessageClient(endpoint)
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


def test_reply_to_a_gateway_that_is_gone_is_dropped(echo: Echo, endpoint: str) -> None:
    echo.answers = False
    client = MessageClient(endpoint)
    client.send([b"hello"])
    while not echo.received:
        pass
    client.close()
    for _ in range(100):
        echo.server.send(echo.received[0][0], [b"late"])
    echo.answers = True
    other = MessageClient(endpoint)
    other.send([b"sound"])
    assert other.receive() == [b"sound"]
    other.close()


def test_socket_file_of_a_dead_worker_is_replaced(endpoint: str) -> None:
    for _ in range(2):
        server = MessageServer(endpoint)
        server.bind()
        client = MessageClient(endpoint)
        client.close()
        server.close()


def test_connection_is_handled_by_one_thread_at_a_time(endpoint: str) -> None:
    """Also if a reply that does not fit is sent between the report of an event and its handling."""
    server = MessageServer(endpoint)
    server.bind()
    clients = [MessageClient(endpoint) for _ in range(2)]
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
