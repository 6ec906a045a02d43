"""What every route needs: settings, database, the way to the gateway, and bodies that end; api and gateway."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Depends, Request

from db.engine import Database
from sweep.errors import TooLargeError
from sweep.settings import ServiceSettings

MAX_JSON_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """The service that a request came to."""

    settings: ServiceSettings
    database: Database


def _context(request: Request) -> ServiceContext:
    found: ServiceContext = request.app.state.service
    return found


context = Depends(_context)


async def body_within(request: Request, limit: int) -> bytes:
    """The body, counted while it comes. Raises `TooLargeError` as soon as it is above `limit` bytes."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > limit:
            raise TooLargeError(f"the body is above {limit:,} bytes")
    return bytes(content)
