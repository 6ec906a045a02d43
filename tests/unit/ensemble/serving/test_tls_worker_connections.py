"""Connections to workers on other machines: certificates, heartbeats, and networks that are cut silently."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from podium.api.serve.ports import free_port
from podium.ensemble.protocol.remote_worker_endpoint import TlsEndpoint
from podium.ensemble.serving.tls_worker_connections import HeartbeatTimes, NodeTransport
from podium.ensemble.serving.unix_socket_transport import SocketConnection
from tests.certificates import HOST, Identity
from tests.message_listener import MessageListener
from tests.message_recorder import PATIENCE_S, MessageRecorder

QUICK = HeartbeatTimes(connect_s=0.2, retry_s=0.01, interval_s=0.05)


class Machine:
    """A worker on another machine that sends messages back. Unplugged, it is silent, and its connections stay open."""

    def __init__(self, folder: Path) -> None:
        self.node, self.head, self.stranger = (Identity.make(folder, name) for name in ("node", "head", "stranger"))
        self.port = free_port()

    def plug(self) -> None:
        self.worker = MessageListener(
            self.node.listening(self.head, self.port), lambda number, frames: self.worker.send(number, frames)
        )

    @asynccontextmanager
    async def opened(
        self, *, expected: Identity | None = None, own: Identity | None = None, times: HeartbeatTimes = QUICK
    ) -> AsyncIterator[tuple[SocketConnection, MessageRecorder]]:
        """`expected`: the identity that the worker should have; `own`: that of the gateway."""
        listener = MessageRecorder()
        opener = NodeTransport((own or self.head).connecting, times=times)
        endpoint = TlsEndpoint(HOST, self.port, (expected or self.node).fingerprint)
        yield opener.open(str(endpoint), listener), listener
        opener.close()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_worker_with_another_certificate_gets_no_message(machine: Machine) -> None:
    async def main() -> None:
        received: list[list[bytes]] = []
        machine.plug()
        machine.worker.on_message = lambda _, frames: received.append(frames)
        async with machine.opened(expected=machine.stranger) as (connection, listener):
            assert connection.send([b"secret"])
            while machine.worker.accepted < 3:
                await asyncio.sleep(0.01)
            assert listener.events.empty() and received == []
        machine.worker.close()

    asyncio.run(main())


def test_gateway_with_another_certificate_is_never_connected(machine: Machine) -> None:
    async def main() -> None:
        machine.plug()
        async with machine.opened(own=machine.stranger) as (connection, listener):
            assert connection.send([b"x"])
            while machine.worker.accepted < 2:
                await asyncio.sleep(0.01)
            assert listener.events.empty() and listener.messages.empty()
        machine.worker.close()

    asyncio.run(main())


def test_silent_cut_is_noticed_by_missing_heartbeats(machine: Machine) -> None:
    async def main() -> None:
        machine.plug()
        async with machine.opened() as (connection, listener):
            assert await listener.event() == "connect"
            machine.worker.answers_heartbeats = False
            assert await listener.event() == "disconnect"
            machine.worker.answers_heartbeats = True
            assert await listener.event() == "connect"
            assert connection.send([b"again"])
            assert await listener.message() == [b"again"]
        machine.worker.close()

    asyncio.run(main())


def test_messages_count_as_heartbeats(machine: Machine) -> None:
    async def main() -> None:
        machine.plug()
        async with machine.opened() as (connection, listener):
            assert await listener.event() == "connect"
            machine.worker.answers_heartbeats = False
            for _ in range(40):
                assert connection.send([b"x"])
                assert await listener.message() == [b"x"]
                await asyncio.sleep(0.01)
            assert listener.events.empty()
        machine.worker.close()

    asyncio.run(main())


def test_late_reply_closes_a_connection_that_is_silent(machine: Machine) -> None:
    times = HeartbeatTimes(interval_s=0.05, missed=10_000)

    async def main() -> None:
        machine.plug()
        async with machine.opened(times=times) as (connection, listener):
            assert await listener.event() == "connect"
            connection.reply_is_late()
            machine.worker.answers_heartbeats = False
            while listener.events.empty():
                await asyncio.sleep(0.01)
                connection.reply_is_late()
            assert await listener.event() == "disconnect"
        machine.worker.close()

    asyncio.run(main())


def test_handshake_without_an_end_is_tried_again(machine: Machine) -> None:
    async def main() -> None:
        never_accepts = socket.create_server((HOST, machine.port))
        async with machine.opened() as (_, listener):
            never_accepts.setblocking(False)
            loop = asyncio.get_running_loop()
            for _ in range(2):
                accepted, _ = await asyncio.wait_for(loop.sock_accept(never_accepts), PATIENCE_S)
                accepted.close()
            assert listener.events.empty()
            never_accepts.close()
            machine.plug()
            assert await listener.event() == "connect"
        machine.worker.close()

    asyncio.run(main())
