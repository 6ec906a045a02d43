"""What every route needs: settings, database, the way to the gateway, and bodies that end; api and gateway."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, HTTPException, Path, Query, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from db.engine import Database
from sweep.errors import TooLargeError
from sweep.settings import ServiceSettings

MAX_JSON_BYTES = 1 << 20
MAX_PREDICTION_BYTES = 64 << 20  # rows to predict
MAX_JSON_ROWS_BYTES = 4 << 20  # the same as JSON: reading it holds every other request up, some 10 ms for each MB
MAX_ID = 2**63 - 1  # what the database can hold
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


async def body_within(request: Request, limit: int, advice: str = "send fewer rows") -> bytes:
    """The body, counted while it comes. Raises `TooLargeError` as soon as it is above `limit` bytes."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > limit:
            raise TooLargeError(f"the body is above {limit:,} bytes; {advice}")
    return bytes(content)


class BodyLimit:
    """Cuts every body off at 1 MB while it comes, but for those routes that count by `body_within`."""

    def __init__(self, app: ASGIApp, own: tuple[str, ...]) -> None:
        self._app = app
        self._own = own  # ends of paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].endswith(self._own):
            await self._app(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > MAX_JSON_BYTES:
                # FastAPI lets this class alone through where it reads bodies.
                raise HTTPException(413, f"the body is above {MAX_JSON_BYTES:,} bytes")
            return message

        await self._app(scope, counted, send)
