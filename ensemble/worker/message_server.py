"""The worker's Unix socket: accepts connections, receives their messages and sends replies; worker process.

Any thread receives, and any thread sends: a request is computed by the thread that received it, and its reply is
written by that thread, without a switch of threads.
"""

from __future__ import annotations

import contextlib
import itertools
import select
import socket
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from podium.ensemble.protocol.framing import FrameReader, FramingError, framed, unix_path
from podium.ensemble.protocol.prediction_messages import Frames

MAX_UNSENT_BYTES = 256 << 20  # per connection; a gateway that does not read loses further replies
_RECEIVE_BYTES = 1 << 18
_BACKLOG = 128
_MAX_BUFFERS = 1024  # of one call of sendmsg, by the kernel


class _Connection:
    """A gateway. It is watched for one event at a time, so that one thread handles it; a lock guards what is unsent."""

    def __init__(self, accepted: socket.socket, number: int, epoll: select.epoll, max_unsent_bytes: int) -> None:
        self.number = number
        self._max_unsent_bytes = max_unsent_bytes
        self.socket = accepted
        self.reader = FrameReader()
        self._epoll = epoll
        self._lock = threading.Lock()
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes = 0
        self._is_handled = True  # by a thread, which watches it again when it is done
        self._is_closed = False

    def watch(self) -> None:
        """Report the first event; the caller can find the connection by its descriptor."""
        with self._lock:
            self._is_handled = False
            self._epoll.register(self.socket, select.EPOLLIN | select.EPOLLONESHOT)

    def send(self, frames: Frames) -> None:
        """Write as much as possible without blocking; the rest is written when the gateway has read."""
        with self._lock:
            if self._unsent_bytes > self._max_unsent_bytes:
                return
            buffers = [memoryview(each) for each in framed(frames)]
            if not self._unsent:
                buffers = self._write(buffers)
            self._unsent.extend(buffers)
            self._unsent_bytes += sum(map(len, buffers))
            if buffers and not self._is_handled:
                self._watch()

    def begin(self) -> bool:
        """Whether the calling thread handles an event. Writes unsent bytes.

        False: another thread does, since `send` may have watched the connection again before this call. An event that
        arrives until its `end` is reported then.
        """
        with self._lock:
            if self._is_handled or self._is_closed:
                return False
            self._is_handled = True
            if self._unsent:
                self._unsent = deque(self._write(list(self._unsent)))
                self._unsent_bytes = sum(map(len, self._unsent))
            return True

    def end(self) -> None:
        """The event has been handled."""
        with self._lock:
            self._is_handled = False
            self._watch()

    def close(self) -> None:
        with self._lock:  # not while another thread writes: the descriptor may be another socket's by then
            self._is_closed = True
            self._epoll.unregister(self.socket)
            self.socket.close()

    def _watch(self) -> None:
        events = select.EPOLLIN | select.EPOLLOUT if self._unsent else select.EPOLLIN
        self._epoll.modify(self.socket, events | select.EPOLLONESHOT)

    def _write(self, buffers: list[memoryview]) -> list[memoryview]:
        """The rest of the buffers; none if the connection is lost, which the thread that receives notices."""
        try:
            sent = self.socket.sendmsg(buffers[:_MAX_BUFFERS])
        except BlockingIOError:
            return buffers
        except OSError:  # half a message may have been sent: what followed it would be taken for the rest
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)
            return []
        while buffers and sent >= len(buffers[0]):
            sent -= len(buffers.pop(0))
        if sent:
            buffers[0] = buffers[0][sent:]
        return buffers


class MessageServer:
    """Listens on an endpoint; a sender is the number of its connection."""

    def __init__(self, endpoint: str, max_unsent_bytes: int = MAX_UNSENT_BYTES) -> None:
        """`max_unsent_bytes`: of one connection; further replies to it are lost."""
        self._max_unsent_bytes = max_unsent_bytes
        self._path = unix_path(endpoint)
        self._epoll = select.epoll()
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._wake_receiver, self._wake_sender = socket.socketpair()
        for each in (self._listening, self._wake_receiver, self._wake_sender):
            each.setblocking(False)
        self._connections: dict[int, _Connection] = {}  # by number
        self._by_descriptor: dict[int, _Connection] = {}
        self._numbers = itertools.count(1)

    def bind(self) -> None:
        """Listen, replacing a socket file left by a dead worker."""
        Path(self._path).unlink(missing_ok=True)
        self._listening.bind(self._path)
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
        for descriptor, _ in self._epoll.poll():
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

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionError):
            accepted, _ = self._listening.accept()
            accepted.setblocking(False)
            connection = _Connection(accepted, next(self._numbers), self._epoll, self._max_unsent_bytes)
            self._connections[connection.number] = self._by_descriptor[accepted.fileno()] = connection
            connection.watch()

    def _receive(self, connection: _Connection) -> Iterator[tuple[int, list[bytes]]]:
        if not connection.begin():
            return
        try:
            data = connection.socket.recv(_RECEIVE_BYTES)
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

    def _drop(self, connection: _Connection) -> None:
        del self._connections[connection.number], self._by_descriptor[connection.socket.fileno()]
        connection.close()
