"""A Unix or TLS socket in the event loop of a test that receives messages, as a worker's."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from podium.ensemble.protocol.framing import framed
from podium.ensemble.protocol.remote_worker_endpoint import HEARTBEAT, HeartbeatReader
from podium.ensemble.worker.control_messages import TlsListening
from podium.sweep.runtime.certificate_pin import listening_context

OnMessage = Callable[[int, list[bytes]], None]


class MessageListener:
    """Calls `on_message` with the number of the connection and the frames of each message."""

    def __init__(self, where: Path | TlsListening, on_message: OnMessage) -> None:
        self.transports: list[asyncio.Transport] = []
        self.closed = False
        self.accepted = 0  # connections, also those that end before they can send a message
        self.on_message = on_message
        self._context: ssl.SSLContext | None = None
        if isinstance(where, Path):
            self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            where.unlink(missing_ok=True)
            self._listening.bind(str(where))
            self._listening.listen()
        else:
            self._context = listening_context(Path(where.certificate), Path(where.key), where.client)
            self._listening = socket.create_server((where.host, where.first_port))
        self.answers_heartbeats = True
        self._listening.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._listening, self._accept)
        self._accepting: set[asyncio.Task[object]] = set()

    def send(self, connection: int, frames: Sequence[bytes | memoryview]) -> None:
        self.transports[connection].writelines(framed(frames))

    def close(self) -> None:
        self.closed = True
        self._loop.remove_reader(self._listening)
        self._listening.close()
        for transport in self.transports:
            transport.abort()

    def _accept(self) -> None:
        """Not `create_unix_server`: closed at this moment, it leaves an open socket."""
        accepted, _ = self._listening.accept()
        self.accepted += 1
        task = self._loop.create_task(self._connect(accepted))
        self._accepting.add(task)
        task.add_done_callback(self._accepting.discard)

    async def _connect(self, accepted: socket.socket) -> None:
        with contextlib.suppress(OSError):  # a client that is refused
            await self._loop.connect_accepted_socket(lambda: _Connection(self), accepted, ssl=self._context)


class _Connection(asyncio.Protocol):
    def __init__(self, listener: MessageListener) -> None:
        self._listener = listener
        self._reader = HeartbeatReader(self._answer)

    def _answer(self) -> None:
        if self._listener.answers_heartbeats:
            self._listener.send(self._number, HEARTBEAT)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._number = len(self._listener.transports)
        self._listener.transports.append(cast(asyncio.Transport, transport))
        if self._listener.closed:
            transport.close()

    def data_received(self, data: bytes) -> None:
        for frames in self._reader.feed(data):
            self._listener.on_message(self._number, frames)
