"""What every route needs: settings, database, the way to the gateway, and bodies that end; api and gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, HTTPException, Path, Query, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from podium.api.http import reject_duplicate_keys
from podium.db.schema.engine import Database
from podium.sweep.runtime.disk_space import check_room
from podium.sweep.runtime.settings import ServiceSettings
from podium.sweep.values.errors import TooLargeError

MAX_JSON_BYTES = 1 << 20
MAX_PREDICTION_BYTES = 64 << 20  # rows to predict
MAX_JSON_ROWS_BYTES = 4 << 20  # the same as JSON: reading it holds every other request up, some 10 ms for each MB
MAX_BODIES_BYTES = 256 << 20  # of all bodies that are coming to one process
MAX_BODY_S = 60.0
MAX_ROWS = 8_192  # in one prediction: joining the members' answers holds every other request up
SMALL = 1 << 18  # bytes of a body, or numbers of an answer, that the event loop may read or write itself
MAX_ID = 2**63 - 1  # what the database can hold
Answer = TypeVar("Answer")
RowId = Annotated[int, Path(ge=1, le=MAX_ID)]
After = Annotated[int | None, Query(ge=0, le=MAX_ID, description="`next` of the page before")]


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """The service that a request came to."""

    settings: ServiceSettings
    database: Database


async def _context(request: Request) -> ServiceContext:
    found: ServiceContext = request.app.state.service
    return found


context = Depends(_context)


def _has_room(service: ServiceContext = context) -> None:
    check_room(service.settings.data.root)


has_room = Depends(_has_room)  # for a route that begins something new: 507 when the disk is full


async def body_within(request: Request, limit: int, advice: str = "send fewer rows") -> bytes:
    """The body, counted while it comes.

    Raises `TooLargeError` as soon as it is above `limit` bytes, and `HTTPException`: 408 when it takes too long to
    come, 429 while all the bodies that are coming to this process are too much together.
    """
    chunks: list[bytes] = []
    try:
        async with asyncio.timeout(MAX_BODY_S):
            await _receive(request, limit, advice, chunks)
        return b"".join(chunks)
    except TimeoutError as error:
        raise HTTPException(408, f"the body took more than {MAX_BODY_S:g} s to come; {advice}") from error
    finally:
        _coming.bytes -= sum(map(len, chunks))


@dataclass(slots=True)
class _Coming:
    """Bytes received of bodies that are not whole yet."""

    bytes: int = 0


_coming = _Coming()


async def _receive(request: Request, limit: int, advice: str, chunks: list[bytes]) -> None:
    received = 0
    async for chunk in request.stream():
        chunks.append(chunk)
        received += len(chunk)
        _coming.bytes += len(chunk)
        if received > limit:
            raise TooLargeError(f"the body is above {limit:,} bytes; {advice}")
        if _coming.bytes > MAX_BODIES_BYTES:
            raise HTTPException(429, "too many large bodies are coming at once; try again in a second")


def check_count(rows: int) -> None:
    """Raises `TooLargeError` when there are more rows than one prediction may have."""
    if rows > MAX_ROWS:
        raise TooLargeError(f"{rows:,} rows: a prediction has at most {MAX_ROWS:,}; send them in batches")


async def beside_if(large: bool, work: Callable[[], Answer]) -> Answer:
    """What `work` answers; a `large` one is done in a thread, so that no other request waits for it."""
    return await asyncio.to_thread(work) if large else work()


class BodyLimit:
    """Cuts every body off at 1 MB and after a minute while it comes, but for those routes that use `body_within`."""

    def __init__(self, app: ASGIApp, own: tuple[str, ...]) -> None:
        self._app = app
        self._own = own  # ends of paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].endswith(self._own):
            await self._app(scope, receive, send)
            return
        body = _LimitedBody(receive)
        try:
            await self._app(scope, body.receive, send)
        finally:
            _coming.bytes -= body.received


class _LimitedBody:
    """A body of a request, counted; JSON with a key twice is refused."""

    def __init__(self, receive: Receive) -> None:
        self.received = 0
        self._receive = receive
        self._end_s = asyncio.get_running_loop().time() + MAX_BODY_S
        self._chunks: list[bytes] = []
        self._is_whole = False

    async def receive(self) -> Message:
        if self._is_whole:
            return await self._receive()  # whether the client has left
        try:
            async with asyncio.timeout_at(self._end_s):
                message = await self._receive()
        except TimeoutError as error:
            raise HTTPException(408, f"the body took more than {MAX_BODY_S:g} s to come") from error
        self._count(message.get("body", b""))
        if message["type"] == "http.request" and not message.get("more_body", False):
            self._is_whole = True
            body = b"".join(self._chunks)
            await beside_if(len(body) > SMALL, lambda: reject_duplicate_keys.check(body))
            self._chunks.clear()
        return message

    def _count(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self.received += len(chunk)
        _coming.bytes += len(chunk)
        if self.received > MAX_JSON_BYTES:
            raise HTTPException(413, f"the body is above {MAX_JSON_BYTES:,} bytes")
        if _coming.bytes > MAX_BODIES_BYTES:
            raise HTTPException(429, "too many large bodies are coming at once; try again in a second")
