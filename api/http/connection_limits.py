"""A connection within bounds: how many there are, how long a client may take, how long a head may be; api and gateway.

uvicorn itself waits for ever for the head of a request, and holds whatever comes of it. What comes through a Unix
socket is the api's own, and may take its time.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import resource
import time
from http import HTTPStatus
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from podium.api.http.problem_details import problem
from podium.api.http.request_guard import HEADERS
from podium.api.http.slow_connections import Awaited, Waiting

MAX_CONNECTIONS = 16_384
MAX_FILES = 65_536
MAX_HEAD_BYTES = 1 << 16
MAX_AT_ONCE = 200
MAX_PIPELINED = 16  # requests that came before the answer to the first
_quiet = logging.getLogger("podium.http.connections")
_quiet.setLevel(logging.ERROR)  # else everything that is no HTTP would be a line in the log


class BoundedState(ServerState):
    """What the connections of one server share."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: Waiting[BoundedProtocol] = Waiting()
        self.clients = 0
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.max_clients = min(MAX_CONNECTIONS, MAX_FILES if files == resource.RLIM_INFINITY else files * 3 // 4)

    def end_overdue(self) -> None:
        """Part with those who took too long; with some of them, where they are so many that it takes its time."""
        for client, awaited in self.waiting.overdue(time.monotonic(), MAX_AT_ONCE):
            client.end_overdue(awaited)


class BoundedProtocol(HttpToolsProtocol):
    """One connection; see the module."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        assert isinstance(server_state, BoundedState)
        self.logger = _quiet
        self._state = server_state
        self._is_client = False
        self._in_head = True
        self._in_body = False
        self._chunk_bytes = 0  # of what is just being read
        self._barren_bytes = 0  # received, with neither a whole head nor anything of a body in it
        self._head_is_too_large = False

    # The connection.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._is_client = self.server is None or self.server[1] is not None
        if not self._is_client:
            return
        self._state.clients += 1
        if self._state.clients > self._state.max_clients and not self._make_room():
            self._refuse(503, "There are too many connections", "try again in a second")
            return
        self._await(Awaited.HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._is_client:
            self._state.clients -= 1
            self._state.waiting.forget(self)
        super().connection_lost(exc)

    def end_overdue(self, awaited: Awaited) -> None:
        """It took too long for this."""
        if awaited is Awaited.HEAD and self.transport.get_write_buffer_size():
            self._await(Awaited.READING)  # it still reads the answer before
        elif awaited is Awaited.HEAD and self._barren_bytes > 0 and not self.transport.is_closing():
            self._refuse(408, "The request took too long to come", "send its head at once")
        else:
            self.transport.abort()

    def _make_room(self) -> bool:
        """Part with the one that was waited for longest; nobody whose answer is on its way is sent off."""
        longest = self._state.waiting.give_up()
        if longest is not None:
            longest.transport.abort()
        return longest is not None

    def _await(self, awaited: Awaited) -> None:
        if self._is_client:
            self._state.waiting.begin(self, awaited, time.monotonic())

    def _has_come(self, awaited: Awaited) -> None:
        self._state.waiting.end(self, awaited)

    def _refuse(self, status: int, title: str, detail: str) -> None:
        self._has_come(Awaited.HEAD)
        self._await(Awaited.READING)
        self.transport.write(_answer(status, title, detail))
        self.transport.close()

    # What comes.

    def data_received(self, data: bytes) -> None:
        self._chunk_bytes = len(data)
        super().data_received(data)
        self._barren_bytes += self._chunk_bytes
        if self._barren_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            if self._in_head:
                self._refuse_head()
            else:
                self.transport.abort()  # fields after a body, or comments between its chunks, without end

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # and not after the body, where nobody wants any
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._barren_bytes + self._chunk_bytes > MAX_HEAD_BYTES and self._head_bytes() > MAX_HEAD_BYTES:
            self._head_is_too_large = True
            raise ValueError  # the parser stops, and `send_400_response` is called
        if len(self.pipeline) >= MAX_PIPELINED:
            raise ValueError
        self._in_head, self._in_body = False, True
        self._bear_fruit()
        self._has_come(Awaited.HEAD)
        super().on_headers_complete()
        if not self.pipeline:
            self._await(Awaited.BODY)

    def on_body(self, body: bytes) -> None:
        self._bear_fruit()
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head, self._in_body = True, False
        self._bear_fruit()
        self._has_come(Awaited.BODY)
        if self.cycle is not None and self.cycle.response_complete:
            self._has_come(Awaited.REST)
            self._await(Awaited.HEAD)

    def send_400_response(self, msg: str) -> None:
        if self.pipeline:
            self.transport.abort()  # an answer would be taken for that to a request before
        elif self._head_is_too_large:
            self._refuse_head()
        else:
            self._refuse(400, "The request is no HTTP", msg)

    def _refuse_head(self) -> None:
        self._refuse(
            431, "The head of the request is too large", f"an address and headers have {MAX_HEAD_BYTES:,} bytes"
        )

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _bear_fruit(self) -> None:
        self._barren_bytes = -self._chunk_bytes  # it is added when it is read to its end

    # What goes.

    def pause_writing(self) -> None:
        self._await(Awaited.READING)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._has_come(Awaited.READING)
        super().resume_writing()

    def on_response_complete(self) -> None:
        is_last = not self.pipeline
        super().on_response_complete()
        if self.transport.is_closing():
            self._await(Awaited.READING)
        elif self._in_body:
            self._await(Awaited.REST if is_last else Awaited.BODY)
        elif is_last:
            self._await(Awaited.HEAD)

    def timeout_keep_alive_handler(self) -> None:
        self._await(Awaited.READING)  # what is written already
        super().timeout_keep_alive_handler()


def allow_many_files() -> None:
    """Let this process have as many connections as the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if most > soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


@functools.cache
def _answer(status: int, title: str, detail: str) -> bytes:
    answer = problem(status, title, detail)
    answer.headers.update({**HEADERS, "Cache-Control": "no-store", "Connection": "close"})
    first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
    fields = b"".join(name + b": " + value + b"\r\n" for name, value in answer.raw_headers)
    return first + fields + b"\r\n" + bytes(answer.body)
