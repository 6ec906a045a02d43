"""Limits on connections: their number, the time a client may take, the size of request headers; api and gateway.

uvicorn itself waits without a limit for request headers and buffers what arrives. Connections through the Unix socket
come from the api process; time limits do not apply to them.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import resource
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from podium.api.http import request_arrival_time
from podium.api.http.cancel_on_disconnect import EXTENSION, DisconnectSignal
from podium.api.http.connection_progress import LIMITS_S, Awaited, SlowConnections
from podium.api.http.problem_details import ProblemType, problem
from podium.api.http.security_headers import HEADERS

MAX_CONNECTIONS = 16_384
MAX_FILES = 65_536
MAX_HEAD_BYTES = 1 << 16
MAX_CLOSED_PER_TICK = 200
MAX_PIPELINED = 16  # requests received before the first is answered
_quiet = logging.getLogger("podium.http.connections")
_quiet.setLevel(logging.ERROR)  # otherwise every malformed request would be logged


class BoundedState(ServerState):
    """State that the connections of one server share."""

    def __init__(self, limits_s: Mapping[Awaited, float] = LIMITS_S) -> None:
        """`limits_s`: how long the server waits for a client, in seconds."""
        super().__init__()
        self.waiting: SlowConnections[BoundedProtocol] = SlowConnections(limits_s)
        self.clients = 0
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.max_clients = min(MAX_CONNECTIONS, MAX_FILES if files == resource.RLIM_INFINITY else files * 3 // 4)

    def end_overdue(self) -> None:
        """Close connections that exceeded a time limit, at most `MAX_CLOSED_PER_TICK` per call."""
        for client, awaited in self.waiting.overdue(time.monotonic(), MAX_CLOSED_PER_TICK):
            client.end_overdue(awaited)


class BoundedProtocol(HttpToolsProtocol):
    """One connection with limits."""

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
        self._chunk_bytes = 0  # of the chunk that is being parsed
        self._unused_bytes = 0  # received without completing the headers or any part of a body
        self._head_is_too_large = False
        self._disconnect = DisconnectSignal()
        self._received_s = 0.0  # when the chunk that is being parsed was received

    # The connection.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._is_client = self.server is None or self.server[1] is not None
        if not self._is_client:
            return
        self._state.clients += 1
        if self._state.clients > self._state.max_clients and not self._make_room():
            self._refuse(ProblemType.TOO_MANY_CONNECTIONS, "retry in 1 s")
            return
        self._await(Awaited.HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._is_client:
            self._state.clients -= 1
            self._state.waiting.forget(self)
        super().connection_lost(exc)
        self._disconnect.set()

    def end_overdue(self, awaited: Awaited) -> None:
        """The time limit for `awaited` is exceeded."""
        if awaited is Awaited.HEAD and self.transport.get_write_buffer_size():
            self._await(Awaited.READING)  # the client is still reading the previous response
        elif awaited is Awaited.HEAD and self._unused_bytes > 0 and not self.transport.is_closing():
            self._refuse(ProblemType.REQUEST_TIMEOUT, "the request headers did not arrive in time")
        else:
            self.transport.abort()

    def _make_room(self) -> bool:
        """Close the connection that has been idle longest; never one whose response is being sent."""
        longest = self._state.waiting.pop_longest()
        if longest is not None:
            longest.transport.abort()
        return longest is not None

    def _await(self, awaited: Awaited) -> None:
        if self._is_client:
            self._state.waiting.begin(self, awaited, time.monotonic())

    def _arrived(self, awaited: Awaited) -> None:
        self._state.waiting.end(self, awaited)

    def _refuse(self, kind: ProblemType, detail: str) -> None:
        self._arrived(Awaited.HEAD)
        self._await(Awaited.READING)
        self.transport.write(_answer(kind, detail))
        self.transport.close()

    # Receiving.

    def data_received(self, data: bytes) -> None:
        self._chunk_bytes = len(data)
        self._received_s = time.monotonic()
        super().data_received(data)
        self._unused_bytes += self._chunk_bytes
        if self._unused_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            if self._in_head:
                self._refuse_head()
            else:
                self.transport.abort()  # endless trailers, or chunk extensions

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {EXTENSION: self._disconnect}  # type: ignore[dict-item]  # ASGI's type has dicts

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers are ignored
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._unused_bytes + self._chunk_bytes > MAX_HEAD_BYTES and self._head_bytes() > MAX_HEAD_BYTES:
            self._head_is_too_large = True
            raise ValueError  # stops the parser, which calls `send_400_response`
        if len(self.pipeline) >= MAX_PIPELINED:
            raise ValueError
        self._in_head, self._in_body = False, True
        self._reset_unused()
        self._arrived(Awaited.HEAD)
        super().on_headers_complete()
        if not self.pipeline:
            self._await(Awaited.BODY)

    def on_body(self, body: bytes) -> None:
        self._reset_unused()
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if not self.pipeline:  # otherwise an earlier request is being answered
            request_arrival_time.note(cast(dict[str, Any], self.scope), self._received_s)
        self._in_head, self._in_body = True, False
        self._reset_unused()
        self._arrived(Awaited.BODY)
        if self.cycle is not None and self.cycle.response_complete:
            self._arrived(Awaited.REST)
            self._await(Awaited.HEAD)

    def send_400_response(self, msg: str) -> None:
        if self.pipeline:
            self.transport.abort()  # the client would take it for the response to an earlier request
        elif self._head_is_too_large:
            self._refuse_head()
        else:
            self._refuse(ProblemType.MALFORMED_HTTP, msg)

    def _refuse_head(self) -> None:
        self._refuse(ProblemType.HEADERS_TOO_LARGE, f"the URL and the headers exceed {MAX_HEAD_BYTES:,} bytes")

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _reset_unused(self) -> None:
        self._unused_bytes = -self._chunk_bytes  # `data_received` adds the chunk afterwards

    # Sending.

    def pause_writing(self) -> None:
        self._await(Awaited.READING)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._arrived(Awaited.READING)
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
        self._await(Awaited.READING)  # of what has been written
        super().timeout_keep_alive_handler()


def allow_many_files() -> None:
    """Raise the limit of open files of this process to the hard limit, at most `MAX_FILES`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if most > soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


@functools.cache
def _answer(kind: ProblemType, detail: str) -> bytes:
    answer = problem(kind, detail)
    answer.headers.update({**HEADERS, "Cache-Control": "no-store", "Connection": "close"})
    first = f"HTTP/1.1 {kind.status} {HTTPStatus(kind.status).phrase}\r\n".encode()
    fields = b"".join(name + b": " + value + b"\r\n" for name, value in answer.raw_headers)
    return first + fields + b"\r\n" + bytes(answer.body)
