"""The worker's Unix socket: accepts connections, receives their messages and sends replies; worker process.

One thread receives. Any thread sends: a reply is written by the thread that computed it, without a switch of threads.
"""

from __future__ import annotations

import contextlib
import itertools
import selectors
import socket
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from podium.ensemble.protocol.framing import FrameReader, FramingError, framed, unix_path
from podium.ensemble.protocol.wire import Frames

MAX_UNSENT_BYTES = 256 << 20  # per connection; a gateway that does not read loses further replies
_RECEIVE_BYTES = 1 << 18
_BACKLOG = 128


class _Connection:
    """A gateway. Its unsent bytes are guarded by a lock."""

    def __init__(self, accepted: socket.socket) -> None:
        self.socket = accepted
        self.reader = FrameReader()
        self._lock = threading.Lock()
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes = 0

    def send(self, frames: Frames) -> bool:
        """Write as much as possible without blocking. Returns whether bytes are left for `flush`."""
        with self._lock:
            if self._unsent_bytes > MAX_UNSENT_BYTES:
                return False
            buffers = [memoryview(each) for each in framed(frames)]
            if not self._unsent:
                buffers = self._write(buffers)
            self._unsent.extend(buffers)
            self._unsent_bytes += sum(map(len, buffers))
            return bool(buffers)

    def flush(self) -> bool:
        """Write unsent bytes. Returns whether bytes are left."""
        with self._lock:
            self._unsent = deque(self._write(list(self._unsent)))
            self._unsent_bytes = sum(map(len, self._unsent))
            return bool(self._unsent)

    def close(self) -> None:
        with self._lock:  # not while another thread writes: the descriptor may be another socket's by then
            self.socket.close()

    def _write(self, buffers: list[memoryview]) -> list[memoryview]:
        """The rest of the buffers; none if the connection is lost, which the receiving thread notices."""
        try:
            sent = self.socket.sendmsg(buffers)
        except BlockingIOError:
            return buffers
        except OSError:
            return []
        while buffers and sent >= len(buffers[0]):
            sent -= len(buffers.pop(0))
        if sent:
            buffers[0] = buffers[0][sent:]
        return buffers


class MessageServer:
    """Listens on an endpoint; a sender is the number of its connection."""

    def __init__(self, endpoint: str) -> None:
        self._path = unix_path(endpoint)
        self._selector = selectors.DefaultSelector()
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._wake_receiver, self._wake_sender = socket.socketpair()
        for each in (self._listening, self._wake_receiver, self._wake_sender):
            each.setblocking(False)
        self._connections: dict[int, _Connection] = {}
        self._numbers = itertools.count(1)
        self._to_flush: deque[int] = deque()

    def bind(self) -> None:
        """Listen, replacing a socket file left by a dead worker."""
        Path(self._path).unlink(missing_ok=True)
        self._listening.bind(self._path)
        self._listening.listen(_BACKLOG)
        for each in (self._listening, self._wake_receiver):
            self._selector.register(each, selectors.EVENT_READ)

    def send(self, sender: int, frames: Frames) -> None:
        """Send a message without blocking; it is lost if the connection is. Any thread may call it."""
        connection = self._connections.get(sender)
        if connection is not None and connection.send(frames):
            self._to_flush.append(sender)
            self.wake()

    def wake(self) -> None:
        """Let `receive` return. Any thread may call it."""
        with contextlib.suppress(BlockingIOError):  # enough wake-ups are queued already
            self._wake_sender.send(b"\0")

    def receive(self) -> Iterator[tuple[int, list[bytes]]]:
        """Wait; then each message that has arrived, with its sender. A message without frames is invalid."""
        for key, events in self._selector.select():
            if key.fileobj is self._listening:
                self._accept()
            elif key.fileobj is self._wake_receiver:
                self._wake_receiver.recv(4096)
                self._watch_unsent()
            else:
                if events & selectors.EVENT_WRITE and not self._connections[key.data].flush():
                    self._selector.modify(key.fileobj, selectors.EVENT_READ, key.data)
                if events & selectors.EVENT_READ:
                    yield from self._receive(key.data)

    def close(self) -> None:
        """Close all sockets. The thread that receives must have ended."""
        for sender in list(self._connections):
            self._drop(sender)
        self._selector.close()
        for each in (self._listening, self._wake_receiver, self._wake_sender):
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionError):
            accepted, _ = self._listening.accept()
            accepted.setblocking(False)
            number = next(self._numbers)
            self._connections[number] = _Connection(accepted)
            self._selector.register(accepted, selectors.EVENT_READ, number)

    def _watch_unsent(self) -> None:
        """Wait until connections with unsent bytes can be written."""
        while self._to_flush:
            sender = self._to_flush.popleft()
            if (connection := self._connections.get(sender)) is not None:
                self._selector.modify(connection.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, sender)

    def _receive(self, sender: int) -> Iterator[tuple[int, list[bytes]]]:
        connection = self._connections[sender]
        try:
            data = connection.socket.recv(_RECEIVE_BYTES)
            messages = connection.reader.feed(data)
        except BlockingIOError:
            return
        except OSError:
            self._drop(sender)
            return
        except FramingError:
            self._drop(sender)
            yield sender, []
            return
        if not data:
            self._drop(sender)
            return
        for frames in messages:
            yield sender, frames

    def _drop(self, sender: int) -> None:
        connection = self._connections.pop(sender)
        self._selector.unregister(connection.socket)
        connection.close()
