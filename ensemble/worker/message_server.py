"""The worker's Unix socket: accepts connections, receives their messages and sends replies; worker process.

Any thread receives, and any thread sends: a request is computed by the thread that received it, and its reply is
written by that thread, without a switch of threads.
"""

from __future__ import annotations

import contextlib
import itertools
import select
import socket
from collections.abc import Iterator
from pathlib import Path

from podium.ensemble.protocol.framing import FramingError, unix_path
from podium.ensemble.protocol.prediction_messages import Frames
from podium.ensemble.worker.gateway_connection import GatewayConnection

MAX_UNSENT_BYTES = 256 << 20  # per connection; a gateway that does not read loses further replies
_RECEIVE_BYTES = 1 << 18
_BACKLOG = 128


class MessageServer:
    """Listens on a Unix socket; a sender is the number of its connection."""

    _wait_s: float | None = None  # for an event; None: without limit

    def __init__(self, endpoint: str, max_unsent_bytes: int = MAX_UNSENT_BYTES) -> None:
        """`max_unsent_bytes`: of one connection; further replies to it are lost."""
        self.endpoint = endpoint  # final when it is bound
        self._max_unsent_bytes = max_unsent_bytes
        self._epoll = select.epoll()
        self._listening = self._new_socket()
        self._wake_receiver, self._wake_sender = socket.socketpair()
        for each in (self._listening, self._wake_receiver, self._wake_sender):
            each.setblocking(False)
        self._connections: dict[int, GatewayConnection] = {}  # by number
        self._by_descriptor: dict[int, GatewayConnection] = {}
        self._numbers = itertools.count(1)

    def bind(self) -> None:
        """Listen, replacing a socket file left by a dead worker. Raises `OSError`."""
        self._bind()
        self._listening.listen(_BACKLOG)
        for each in (self._listening, self._wake_receiver):
            self._epoll.register(each, select.EPOLLIN)

    def send(self, sender: int, frames: Frames) -> None:
        """Send a message without blocking; it is lost if the connection is. Any thread may call it."""
        connection = self._connections.get(sender)
        if connection is not None:
            connection.send(frames)

    def stop_receiving(self) -> None:
        """Let `receive` return in every thread, now and later."""
        with contextlib.suppress(BlockingIOError):
            self._wake_sender.send(b"\0")

    def receive(self) -> Iterator[tuple[int, list[bytes]]]:
        """Wait; then each message that has arrived, with its sender. A message without frames is invalid.

        Several threads may wait: one of them gets the messages of a connection, in their order.
        """
        for descriptor, _ in self._epoll.poll(self._wait_s):
            if descriptor == self._listening.fileno():
                self._accept()
            elif (connection := self._by_descriptor.get(descriptor)) is not None:
                yield from self._receive(connection)

    def close(self) -> None:
        """Close all sockets. The threads that receive must have ended."""
        for connection in list(self._connections.values()):
            self._drop(connection)
        self._epoll.close()
        for each in (self._listening, self._wake_receiver, self._wake_sender):
            each.close()

    def _new_socket(self) -> socket.socket:
        return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def _bind(self) -> None:
        path = unix_path(self.endpoint)
        Path(path).unlink(missing_ok=True)
        self._listening.bind(path)

    def _new_connection(self, accepted: socket.socket) -> GatewayConnection:
        return GatewayConnection(accepted, next(self._numbers), self._epoll, self._max_unsent_bytes)

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionError):
            accepted, _ = self._listening.accept()
            accepted.setblocking(False)
            connection = self._new_connection(accepted)
            self._connections[connection.number] = self._by_descriptor[accepted.fileno()] = connection
            connection.watch()

    def _receive(self, connection: GatewayConnection) -> Iterator[tuple[int, list[bytes]]]:
        if not connection.begin():
            return
        try:
            data = connection.receive(_RECEIVE_BYTES)
            messages = connection.reader.feed(data)
        except BlockingIOError:
            connection.end()
            return
        except OSError:
            self._drop(connection)
            return
        except FramingError:
            self._drop(connection)
            yield connection.number, []
            return
        if not data:
            self._drop(connection)
            return
        for frames in messages:
            yield connection.number, frames
        connection.end()

    def _drop(self, connection: GatewayConnection) -> None:
        del self._connections[connection.number], self._by_descriptor[connection.socket.fileno()]
        connection.close()
