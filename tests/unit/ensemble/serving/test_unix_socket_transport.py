"""Connections to workers: messages in both directions, lost connections, and workers that do not read."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from podium.api.serve.ports import free_port
from podium.ensemble.protocol.framing import framed, unix_endpoint
from podium.ensemble.protocol.remote_worker_endpoint import TlsEndpoint
from podium.ensemble.serving.tls_worker_connections import NodeTransport
from podium.ensemble.serving.unix_socket_transport import LIMITS, SendLimits, SocketConnection, SocketTransport
from podium.ensemble.worker.control_messages import TlsListening
from tests.certificates import HOST, Identity
from tests.message_listener import MessageListener
from tests.message_recorder import MessageRecorder


class Peer(MessageListener):
    """A worker that sends every message back, in the reverse order of its frames."""

    def __init__(self, where: Path | TlsListening) -> None:
        super().__init__(where, lambda connection, frames: self.send(connection, frames[::-1]))


class Place:
    """Where a worker listens, or will: on a Unix socket or on TLS."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._path = folder / "s"
        self._tls = kind == "tls"
        if self._tls:
            self._port = free_port()
            self.node, self.head = Identity.make(folder, "node"), Identity.make(folder, "head")

    def peer(self) -> Peer:
        return Peer(self.node.listening(self.head, self._port) if self._tls else self._path)

    @property
    def endpoint(self) -> str:
        return str(TlsEndpoint(HOST, self._port, self.node.fingerprint)) if self._tls else unix_endpoint(self._path)

    @asynccontextmanager
    async def opened(self, limits: SendLimits = LIMITS) -> AsyncIterator[tuple[SocketConnection, MessageRecorder]]:
        listener = MessageRecorder()
        opener = NodeTransport(self.head.connecting, limits) if self._tls else SocketTransport(limits)
        yield opener.open(self.endpoint, listener), listener
        opener.close()

    def never_accepts(self) -> socket.socket:
        """Listens, and reads nothing."""
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(self._path))
        listening.listen()
        return listening


@pytest.fixture(params=["unix", "tls"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    return Place(tmp_path, request.param)


def test_messages_arrive_in_order_and_whole(place: Place) -> None:
    async def main() -> None:
        peer = place.peer()
        async with place.opened() as (connection, listener):
            large = bytes(range(256)) * 20_000
            sent = [[b"1"], [b"2", large], [b"3", b"", b"x"]]
            assert all(connection.send(frames) for frames in sent)
            assert [await listener.message() for _ in sent] == [frames[::-1] for frames in sent]
        peer.close()

    asyncio.run(main())


def test_messages_wait_until_the_worker_listens(place: Place) -> None:
    async def main() -> None:
        async with place.opened() as (connection, listener):
            await asyncio.sleep(0.01)
            assert connection.send([b"early"])
            assert listener.events.empty()
            peer = place.peer()
            assert await listener.event() == "connect"
            assert await listener.message() == [b"early"]
        peer.close()

    asyncio.run(main())


def test_waiting_messages_are_bounded(place: Place) -> None:
    limits = SendLimits(waiting_messages=3)

    async def main() -> None:
        async with place.opened(limits) as (connection, _):
            assert [connection.send([b"x"]) for _ in range(5)] == [True, True, True, False, False]

    asyncio.run(main())


def test_lost_connection_is_reported_and_established_again(place: Place) -> None:
    async def main() -> None:
        peer = place.peer()
        async with place.opened() as (connection, listener):
            assert await listener.event() == "connect"
            assert connection.send([b"first"])
            assert await listener.message() == [b"first"]
            peer.close()
            assert await listener.event() == "disconnect"
            peer = place.peer()
            assert await listener.event() == "connect"
            assert connection.send([b"again"])
            assert await listener.message() == [b"again"]
        assert listener.events.empty()
        peer.close()

    asyncio.run(main())


def test_part_of_a_message_before_the_loss_does_not_spoil_the_next(place: Place) -> None:
    async def main() -> None:
        peer = place.peer()
        async with place.opened() as (connection, listener):
            assert connection.send([b"first"])
            assert await listener.message() == [b"first"]
            peer.transports[0].writelines(framed([b"half of this"])[:1])
            peer.transports[0].close()
            assert [await listener.event() for _ in range(3)] == ["connect", "disconnect", "connect"]
            assert connection.send([b"second"])
            assert await listener.message() == [b"second"]
        peer.close()

    asyncio.run(main())


def test_stream_without_messages_is_disconnected(place: Place) -> None:
    async def main() -> None:
        peer = place.peer()
        async with place.opened() as (connection, listener):
            assert connection.send([b"first"])
            assert await listener.message() == [b"first"]
            peer.transports[0].write(struct.pack("!I", 2**31))
            assert [await listener.event() for _ in range(2)] == ["connect", "disconnect"]
        peer.close()

    asyncio.run(main())


@pytest.mark.parametrize("place", ["unix"], indirect=True)
def test_unsent_bytes_of_a_worker_that_does_not_read_are_bounded(place: Place) -> None:
    limits = SendLimits(unsent_bytes=1 << 20)

    async def main() -> None:
        with place.never_accepts():
            async with place.opened(limits) as (connection, listener):
                assert await listener.event() == "connect"
                sent = [connection.send([b"x" * (1 << 18)]) for _ in range(40)]
                assert sent == sorted(sent, reverse=True)
                assert sent[0] and not sent[-1]

    asyncio.run(main())


def test_nothing_is_heard_or_sent_after_close(place: Place) -> None:
    async def main() -> None:
        peer = place.peer()
        async with place.opened() as (connection, listener):
            assert await listener.event() == "connect"
            assert connection.send([b"unanswered"])
        await asyncio.sleep(0.05)
        assert not connection.send([b"late"])
        assert listener.messages.empty() and listener.events.empty()
        peer.close()

    asyncio.run(main())
