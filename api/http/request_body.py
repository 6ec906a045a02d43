"""Reads request bodies within limits on bytes and time; api and gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from re import Pattern
from typing import TypeVar

from fastapi import HTTPException, Request
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from podium.api.http import reject_duplicate_keys, request_arrival_time, request_limits
from podium.api.http.request_limits import INLINE_SIZE, MAX_JSON_BYTES, RequestLimits
from podium.sweep.values.errors import TooLargeError

Answer = TypeVar("Answer")
Endpoint = TypeVar("Endpoint", bound=Callable[..., object])
_READS_OWN_BODY = "podium_reads_own_body"


@dataclass(slots=True)
class IncomingBodies:
    """Bytes of the bodies that one process is receiving, and the limits that hold for them."""

    max_bytes: int = request_limits.MAX_INCOMING_BYTES
    max_s: float = request_limits.MAX_BODY_S
    received_bytes: int = 0

    def add(self, count: int) -> None:
        """Raises `HTTPException` 429 if the limit on all bodies is exceeded; `count` is added even then."""
        self.received_bytes += count
        if self.received_bytes > self.max_bytes:
            raise HTTPException(429, "too many large request bodies at once; retry in 1 s")

    def release(self, count: int) -> None:
        self.received_bytes -= count

    def timeout_error(self) -> HTTPException:
        return HTTPException(408, f"the request body did not arrive within {self.max_s:g} s")


async def read_body(request: Request, limit: int, advice: str = "send fewer rows") -> bytes:
    """The whole body.

    Raises `TooLargeError` as soon as more than `limit` bytes have arrived, and `HTTPException`: 408 if the body takes
    too long, 429 if this process is receiving too many bytes at once.
    """
    incoming: IncomingBodies = request.app.state.incoming_bodies
    chunks: list[bytes] = []
    try:
        if request_arrival_time.arrived_s(request) is not None:  # completely: there is nothing to wait for
            await _receive(request, limit, advice, chunks)
        else:
            async with asyncio.timeout(incoming.max_s):
                await _receive(request, limit, advice, chunks)
        return b"".join(chunks)
    except TimeoutError as error:
        raise incoming.timeout_error() from error
    finally:
        incoming.release(sum(map(len, chunks)))


async def _receive(request: Request, limit: int, advice: str, chunks: list[bytes]) -> None:
    """Append the body to `chunks`. Raises `ClientDisconnect` if the client disconnects before its end."""
    incoming: IncomingBodies = request.app.state.incoming_bodies
    received = 0
    more = True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk: bytes = message.get("body", b"")
        chunks.append(chunk)
        received += len(chunk)
        incoming.add(len(chunk))
        if received > limit:
            raise TooLargeError(f"the request body exceeds {limit:,} bytes; {advice}")
        more = message.get("more_body", False)


def limits_of(request: Request) -> RequestLimits:
    """The limits of the app that received the request."""
    found: RequestLimits = request.app.state.request_limits
    return found


def check_row_count(rows: int, most: int) -> None:
    """Raises `TooLargeError` for more rows than one prediction may have."""
    if rows > most:
        raise TooLargeError(f"{rows:,} rows exceed the limit of {most:,} per prediction; send batches")


async def run_in_thread_if(large: bool, work: Callable[[], Answer]) -> Answer:
    """The result of `work`; if `large`, computed in a thread so that the event loop is not blocked."""
    return await asyncio.to_thread(work) if large else work()


def reads_own_body(endpoint: Endpoint) -> Endpoint:
    """Marks a route that calls `read_body` with its own limit: `BodyLimit` does not apply to it."""
    setattr(endpoint, _READS_OWN_BODY, True)
    return endpoint


def is_own_body_reader(endpoint: object) -> bool:
    """Whether a route's function is marked with `reads_own_body`."""
    return hasattr(endpoint, _READS_OWN_BODY)


class BodyLimit:
    """Limits every body to 1 MB and one minute and rejects duplicate JSON keys, except where `exempt` matches."""

    def __init__(self, app: ASGIApp, incoming: IncomingBodies, exempt: Iterable[Pattern[str]]) -> None:
        """`exempt`: the paths of the routes that read their body themselves."""
        self._app = app
        self._incoming = incoming
        self._exempt = tuple(exempt)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or any(pattern.match(scope["path"]) for pattern in self._exempt):
            await self._app(scope, receive, send)
            return
        body = _LimitedBody(receive, self._incoming)
        try:
            await self._app(scope, body.receive, send)
        finally:
            self._incoming.release(body.received)


class _LimitedBody:
    """The body of one request."""

    def __init__(self, receive: Receive, incoming: IncomingBodies) -> None:
        self.received = 0
        self._receive = receive
        self._incoming = incoming
        self._end_s = asyncio.get_running_loop().time() + incoming.max_s
        self._chunks: list[bytes] = []
        self._is_complete = False

    async def receive(self) -> Message:
        if self._is_complete:
            return await self._receive()  # the client may still disconnect
        try:
            async with asyncio.timeout_at(self._end_s):
                message = await self._receive()
        except TimeoutError as error:
            raise self._incoming.timeout_error() from error
        self._count(message.get("body", b""))
        if message["type"] == "http.request" and not message.get("more_body", False):
            self._is_complete = True
            body = b"".join(self._chunks)
            await run_in_thread_if(len(body) > INLINE_SIZE, lambda: reject_duplicate_keys.check(body))
            self._chunks.clear()
        return message

    def _count(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self.received += len(chunk)
        self._incoming.add(len(chunk))
        if self.received > MAX_JSON_BYTES:
            raise HTTPException(413, f"the request body exceeds {MAX_JSON_BYTES:,} bytes")
