"""Calls to the slots of this machine over their sockets, without Ray and the slot relay; scheduler.

The calls and answers are those of `podium.sweep.protocol.slot_process_messages`. One thread reads the answers of all
slots. A call that cannot be answered, since the connection has closed, fails: whether it arrived is unknown.
"""

from __future__ import annotations

import contextlib
import logging
import select
import socket
import struct
import threading
from collections.abc import Callable
from concurrent.futures import Future

from podium.sweep.protocol.slot_process_messages import HELLO, Frames, frame

_CREDENTIALS = struct.Struct("=iII")  # pid, uid and gid of a peer
_READ_BYTES = 1 << 18
_CLOSED = "the connection to the slot is closed"
log = logging.getLogger("podium.slots")


class LocalSlotConnection:
    """The connection to one slot."""

    def __init__(self, connection: socket.socket, wait_for: Callable[[int, int], None]) -> None:
        """A connection without calls.

        Args:
            connection: Connected and not blocking.
            wait_for: Sets for which of its events the reading thread waits.
        """
        self._connection = connection
        self._wait_for = wait_for
        self._frames = Frames()
        self._calls = HELLO
        self._waiting: dict[int, Future[bytes]] = {}  # by the number of the call
        self._unsent = b""
        self._is_closed = False
        self._lock = threading.Lock()  # of all attributes but `_frames`

    def call(self, body: bytes) -> Future[bytes]:
        """Send a call without blocking; the body of its answer, or `ConnectionError`."""
        answer: Future[bytes] = Future()
        with self._lock:
            if not self._is_closed:
                self._calls += 1
                self._waiting[self._calls] = answer
                self._send(frame(self._calls, body))
                return answer
        answer.set_exception(ConnectionResetError(_CLOSED))
        return answer

    def _send(self, content: bytes) -> None:
        """Send as much as the slot takes; the reading thread sends the rest."""
        was_blocked = bool(self._unsent)
        self._unsent += content
        if not was_blocked and self._send_unsent():
            self._wait_for(self._connection.fileno(), select.EPOLLIN | select.EPOLLOUT)

    def _send_unsent(self) -> bool:
        """Whether something remains. After an error, the thread that reads finds the connection closed."""
        try:
            self._unsent = self._unsent[self._connection.send(self._unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent = b""
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)  # part of a frame may be missing
        return bool(self._unsent)

    def handle(self, events: int) -> bool:
        """Send and read what is possible without blocking; False once the slot has closed the connection."""
        if events & select.EPOLLOUT:
            with self._lock:
                if not self._send_unsent():
                    self._wait_for(self._connection.fileno(), select.EPOLLIN)
        return self._read() if events & ~select.EPOLLOUT else True

    def _read(self) -> bool:
        try:
            content = self._connection.recv(_READ_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        for number, body in self._frames.feed(content):
            if number != HELLO:
                with self._lock:
                    answer = self._waiting.pop(number)
                answer.set_result(body)
        return bool(content)

    def close(self) -> None:
        """Close the connection; calls without an answer fail."""
        with self._lock:
            self._is_closed = True
            waiting = [*self._waiting.values()]
            self._waiting.clear()
            self._connection.close()
        for answer in waiting:
            answer.set_exception(ConnectionResetError(_CLOSED))


class LocalSlotConnections:
    """The connections of a scheduler, and the thread that reads them."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._connections: dict[int, LocalSlotConnection] = {}  # by descriptor
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()  # of `_thread`

    def connect(self, path: str, pid: int) -> LocalSlotConnection:
        """A connection to the slot that listens at `path`, whose process id is `pid`.

        Raises `OSError` if it cannot be reached or another process listens there, and `RuntimeError` if no thread can
        be started.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            connection.connect(path)
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            peer: int = _CREDENTIALS.unpack(credentials)[0]
            if peer != pid:
                raise ConnectionRefusedError(f"process {peer} listens there, not {pid}")
            self._start_thread()
            slot = self._connections[connection.fileno()] = LocalSlotConnection(connection, self._epoll.modify)
            try:
                self._epoll.register(connection.fileno(), select.EPOLLIN)
            except BaseException:
                del self._connections[connection.fileno()]
                raise
        except BaseException:
            connection.close()
            raise
        return slot

    def _start_thread(self) -> None:
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._read, name="slot-answers", daemon=True)
                thread.start()
                self._thread = thread

    def _read(self) -> None:
        while True:
            for descriptor, events in self._epoll.poll():
                slot = self._connections.get(descriptor)
                if slot is not None and not self._is_open(slot, events):
                    self._epoll.unregister(descriptor)  # a process that is being forked may have the descriptor, too
                    del self._connections[descriptor]  # before another connection can have it
                    slot.close()

    def _is_open(self, slot: LocalSlotConnection, events: int) -> bool:
        """Whether the connection can still be used: any error closes it, and its calls go through the relay."""
        try:
            return slot.handle(events)
        except Exception:
            log.exception("a connection to a slot failed; its calls go through the slot relay")
            return False
