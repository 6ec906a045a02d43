"""One connection of a worker to a gateway: receives its messages, writes replies from any thread; worker process."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections import deque
from collections.abc import Callable

from podium.ensemble.protocol.framing import FrameReader, framed
from podium.ensemble.protocol.prediction_messages import Frames

_MAX_BUFFERS = 1024  # of one call of sendmsg, by the kernel


class GatewayConnection:
    """A gateway. It is watched for one event at a time, so that one thread handles it; a lock guards what is unsent."""

    def __init__(self, accepted: socket.socket, number: int, epoll: select.epoll, max_unsent_bytes: int) -> None:
        self.number = number
        self._max_unsent_bytes = max_unsent_bytes
        self.socket = accepted
        self.receive: Callable[[int], bytes] = accepted.recv
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
            self._put([memoryview(each) for each in framed(frames)])

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

    def _put(self, buffers: list[memoryview]) -> None:
        """Write the buffers, or keep what does not fit. The lock must be held."""
        if not self._unsent:
            buffers = self._write(buffers)
        self._unsent.extend(buffers)
        self._unsent_bytes += sum(map(len, buffers))
        if buffers and not self._is_handled:
            self._watch()

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
