"""The gateway's connections to workers through Unix sockets, and the ports that tests fake; gateway process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from podium.ensemble.protocol.framing import FrameReader, FramingError, framed, unix_path

Frames = Sequence[bytes | memoryview]
RECONNECT_S = 0.05  # doubled after each attempt
MAX_RECONNECT_S = 1.0


@dataclass(frozen=True, slots=True)
class SendLimits:
    """Limits of one connection on messages that are not sent yet."""

    unsent_bytes: int = 256 << 20  # the link's own limits are lower
    waiting_messages: int = 1024  # while the connection is being established


LIMITS = SendLimits()


class Cancellable(Protocol):
    """A scheduled call."""

    def cancel(self) -> object: ...


class Timer(Protocol):
    """The monotonic clock, and scheduled calls."""

    def now_s(self) -> float: ...

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Cancellable: ...

    def call_soon(self, callback: Callable[[], object]) -> object:
        """Call after everything that is due in this turn of the event loop."""


class Listener(Protocol):
    """Receives the messages and connection events of a worker."""

    def on_message(self, frames: list[bytes]) -> None: ...

    def on_disconnect(self) -> None:
        """The worker has closed the connection."""

    def on_reconnect(self) -> None:
        """The connection is established, for the first time or again."""


class Connection(Protocol):
    """An open connection to a worker."""

    def send(self, frames: Frames) -> bool:
        """Queue a message without blocking. Returns False if it cannot be queued."""

    def reply_is_late(self) -> None:
        """A reply has not arrived by its deadline: close a connection that is lost without having been closed."""

    def close(self) -> None: ...


class Transport(Protocol):
    """Opens connections."""

    def open(self, endpoint: str, listener: Listener) -> Connection: ...

    def close(self) -> None: ...


class SocketTransport:
    """Connections in the running event loop."""

    def __init__(self, limits: SendLimits = LIMITS) -> None:
        self._limits = limits
        self._open: set[SocketConnection] = set()

    def open(self, endpoint: str, listener: Listener) -> SocketConnection:
        connection = self._new_connection(endpoint, listener)
        self._open.add(connection)
        return connection

    def close(self) -> None:
        for connection in tuple(self._open):
            connection.close()

    def _new_connection(self, endpoint: str, listener: Listener) -> SocketConnection:
        return SocketConnection(unix_path(endpoint), listener, self._open.discard, self._limits)


class SocketConnection(asyncio.Protocol):
    """A connection that is established again when it is lost: its loss reports that the worker's process is gone."""

    def __init__(
        self, path: str, listener: Listener, on_close: Callable[[SocketConnection], None], limits: SendLimits
    ) -> None:
        self._path = path
        self._limits = limits
        self._listener = listener
        self._on_close = on_close
        self._loop = asyncio.get_running_loop()
        self._reader = self._new_reader()
        self._transport: asyncio.Transport | None = None
        self._waiting: list[Frames] = []  # until the connection is established
        self._closed = False
        self._connecting = self._loop.create_task(self._connect())

    def send(self, frames: Frames) -> bool:
        if self._transport is None:
            if self._closed or len(self._waiting) >= self._limits.waiting_messages:
                return False
            self._waiting.append(frames)
            return True
        if self._transport.get_write_buffer_size() > self._limits.unsent_bytes:
            return False
        self._transport.writelines(framed(frames))
        return True

    def reply_is_late(self) -> None:
        """The kernel closes the connection when the process exits, so there is nothing to find out."""

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._connecting.cancel()
        self._waiting.clear()
        if self._transport is not None:
            self._transport.abort()
        self._on_close(self)

    async def _connect(self) -> None:
        delay_s = RECONNECT_S
        while True:
            try:
                await self._dial()
                return
            except OSError:
                await asyncio.sleep(delay_s)
                delay_s = min(2 * delay_s, MAX_RECONNECT_S)

    async def _dial(self) -> None:
        await self._loop.create_unix_connection(lambda: self, self._path)

    def _new_reader(self) -> FrameReader:
        return FrameReader()

    # `asyncio.Protocol`

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class is not a subclass
        if self._closed:
            self._transport.abort()
            return
        waiting, self._waiting = self._waiting, []
        for frames in waiting:
            self.send(frames)
        self._listener.on_reconnect()

    def data_received(self, data: bytes) -> None:
        try:
            messages = self._reader.feed(data)
        except FramingError:
            assert self._transport is not None
            self._transport.abort()
            return
        for frames in messages:
            if self._closed:
                return
            self._listener.on_message(frames)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._reader = self._new_reader()
        if not self._closed:
            self._connecting = self._loop.create_task(self._connect())
            self._listener.on_disconnect()


class LoopTimer:
    """The event loop's timer on the monotonic clock."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def now_s(self) -> float:
        return time.monotonic()  # uvloop's clock does not advance within a step, and has a resolution of 1 ms

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Cancellable:
        return self._loop.call_later(max(0.0, delay_s), callback)

    def call_soon(self, callback: Callable[[], object]) -> object:
        return self._loop.call_soon(callback)
