"""The connection to a worker over ZeroMQ, and the ports that tests fake; gateway process."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import zmq
from zmq.utils.monitor import parse_monitor_message

Frames = Sequence[bytes | memoryview]
_SEND_QUEUE = 1024  # the link's own limit is lower
_COPY_BELOW_BYTES = 65536


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
        """The connection is established again."""


class Connection(Protocol):
    """An open connection to a worker."""

    def send(self, frames: Frames) -> bool:
        """Queue a message without blocking. Returns False if it cannot be queued."""

    def close(self) -> None: ...


class Transport(Protocol):
    """Opens connections."""

    def open(self, endpoint: str, listener: Listener) -> Connection: ...

    def close(self) -> None: ...


class ZmqTransport:
    """ZeroMQ sockets of one context, read in the running event loop."""

    def __init__(self) -> None:
        self._context = zmq.Context()
        # Each worker needs three sockets, and the default limit of 1023 is too low for 350 workers.
        self._context.set(zmq.MAX_SOCKETS, int(self._context.get(zmq.SOCKET_LIMIT)))

    def open(self, endpoint: str, listener: Listener) -> ZmqConnection:
        return ZmqConnection(self._context, endpoint, listener)

    def close(self) -> None:
        self._context.destroy(linger=0)


class ZmqConnection:
    """A DEALER socket and its monitor, which reports immediately when the worker's process is gone.

    It is read without zmq.asyncio, which creates a future for each message. ZeroMQ signals edges, not levels: after any
    use of the socket, check for new messages and drain it.
    """

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], endpoint: str, listener: Listener) -> None:
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._socket = context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.SNDHWM, _SEND_QUEUE)
        self._socket.setsockopt(zmq.RECONNECT_IVL, 50)
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_SUCCEEDED)
        self._socket.connect(endpoint)
        self._closed = False
        self._loop.add_reader(self._socket.fileno(), self._drain)
        self._loop.add_reader(self._monitor.fileno(), self._drain_monitor)
        self._loop.call_soon(self._drain_monitor)

    def fileno(self) -> int:
        """The descriptor that becomes readable when a message has arrived."""
        return int(self._socket.fileno())

    def send(self, frames: Frames) -> bool:
        try:
            self._socket.send_multipart(frames, zmq.NOBLOCK, copy=memoryview(frames[-1]).nbytes < _COPY_BELOW_BYTES)
        except zmq.ZMQError:
            return False
        if int(self._socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
            self._loop.call_soon(self._drain)
        return True

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._socket.fileno())
        self._loop.remove_reader(self._monitor.fileno())
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close(linger=0)

    def _drain(self) -> None:
        with contextlib.suppress(zmq.ZMQError):
            while not self._closed:
                self._listener.on_message(self._socket.recv_multipart(zmq.NOBLOCK))

    def _drain_monitor(self) -> None:
        with contextlib.suppress(zmq.ZMQError):
            while not self._closed:
                event = parse_monitor_message(self._monitor.recv_multipart(zmq.NOBLOCK))["event"]
                if event == zmq.EVENT_DISCONNECTED:
                    self._listener.on_disconnect()
                else:
                    self._listener.on_reconnect()


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
