"""Connections to workers: messages in both directions, lost connections, and workers that do not read."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from podium.ensemble.protocol.framing import framed, unix_endpoint
from podium.ensemble.serving.transport import LIMITS, SendLimits, SocketConnection, SocketTransport
from tests.message_listener import MessageListener

PATIENCE_S = 30.0


class Recorder:
    """A listener that records what it hears."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[list[bytes]] = asyncio.Queue()
        self.events: asyncio.Queue[str] = asyncio.Queue()

    def on_message(self, frames: list[bytes]) -> None:
        self.messages.put_nowait(frames)

    def on_disconnect(self) -> None:
        self.events.put_nowait("disconnect")

    def on_reconnect(self) -> None:
        self.events.put_nowait("connect")

    async def event(self) -> str:
        return await asyncio.wait_for(self.events.get(), PATIENCE_S)

    async def message(self) -> list[bytes]:
        return await asyncio.wait_for(self.messages.get(), PATIENCE_S)


class Peer(MessageListener):
    """A worker that sends every message back, in the reverse order of its frames."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, lambda connection, frames: self.send(connection, frames[::-1]))


@asynccontextmanager
async def opened(path: Path, limits: SendLimits = LIMITS) -> AsyncIterator[tuple[SocketConnection, Recorder]]:
    listener, opener = Recorder(), SocketTransport(limits)
    yield opener.open(unix_endpoint(path), listener), listener
    opener.close()


def test_messages_arrive_in_order_and_whole(tmp_path: Path) -> None:
    async def main() -> None:
        peer = Peer(tmp_path / "s")
        async with opened(tmp_path / "s") as (connection, listener):
            large = bytes(range(256)) * 20_000
            sent = [[b"1"], [b"2", large], [b"3", b"", b"x"]]
            assert all(connection.send(frames) for frames in sent)
            assert [await listener.message() for _ in sent] == [frames[::-1] for frames in sent]
        peer.close()

    asyncio.run(main())


def test_messages_wait_until_the_worker_listens(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path / "s") as (connection, listener):
            await asyncio.sleep(0.01)
            assert connection.send([b"early"])
            assert listener.events.empty()
            peer = Peer(tmp_path / "s")
            assert await listener.event() == "connect"
            assert await listener.message() == [b"early"]
        peer.close()

    asyncio.run(main())


def test_waiting_messages_are_bounded(tmp_path: Path) -> None:
    limits = SendLimits(waiting_messages=3)

    async def main() -> None:
        async with opened(tmp_path / "nobody", limits) as (connection, _):
            assert [connection.send([b"x"]) for _ in range(5)] == [True, True, True, False, False]

    asyncio.run(main())


def test_lost_connection_is_reported_and_established_again(tmp_path: Path) -> None:
    async def main() -> None:
        peer = Peer(tmp_path / "s")
        async with opened(tmp_path / "s") as (connection, listener):
            assert await listener.event() == "connect"
            assert connection.send([b"first"])
            assert await listener.message() == [b"first"]
            peer.close()
            assert await listener.event() == "disconnect"
            peer = Peer(tmp_path / "s")
            assert await listener.event() == "connect"
            assert connection.send([b"again"])
            assert await listener.message() == [b"again"]
        assert listener.events.empty()
        peer.close()

    asyncio.run(main())


def test_part_of_a_message_before_the_loss_does_not_spoil_the_next(tmp_path: Path) -> None:
    async def main() -> None:
        peer = Peer(tmp_path / "s")
        async with opened(tmp_path / "s") as (connection, listener):
            assert connection.send([b"first"])
            assert await listener.message() == [b"first"]
            peer.transports[0].writelines(framed([b"half of this"])[:1])
            peer.transports[0].close()
            assert [await listener.event() for _ in range(3)] == ["connect", "disconnect", "connect"]
            assert connection.send([b"second"])
            assert await listener.message() == [b"second"]
        peer.close()

    asyncio.run(main())


def test_stream_without_messages_is_disconnected(tmp_path: Path) -> None:
    async def main() -> None:
        peer = Peer(tmp_path / "s")
        async with opened(tmp_path / "s") as (connection, listener):
            assert connection.send([b"first"])
            assert await listener.message() == [b"first"]
            peer.transports[0].write(struct.pack("!I", 2**31))
            assert [await listener.event() for _ in range(2)] == ["connect", "disconnect"]
        peer.close()

    asyncio.run(main())


def test_unsent_bytes_of_a_worker_that_does_not_read_are_bounded(tmp_path: Path) -> None:
    limits = SendLimits(unsent_bytes=1 << 20)

    async def main() -> None:
        with socket.socket(socket.AF_UNIX) as never_accepts:
            never_accepts.bind(str(tmp_path / "s"))
            never_accepts.listen()
            async with opened(tmp_path / "s", limits) as (connection, listener):
                assert await listener.event() == "connect"
                sent = [connection.send([b"x" * (1 << 18)]) for _ in range(40)]
                assert sent == sorted(sent, reverse=True)
                assert sent[0] and not sent[-1]

    asyncio.run(main())


def test_nothing_is_heard_or_sent_after_close(tmp_path: Path) -> None:
    async def main() -> None:
        peer = Peer(tmp_path / "s")
        async with opened(tmp_path / "s") as (connection, listener):
            assert await listener.event() == "connect"
            assert connection.send([b"unanswered"])
        await asyncio.sleep(0.05)
        assert not connection.send([b"late"])
        assert listener.messages.empty() and listener.events.empty()
        peer.close()

    asyncio.run(main())
