"""Work for a client that may leave: when it does, the work ends at once and frees what it holds; api and gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect

Answer = TypeVar("Answer")


async def while_there(request: Request, work: Awaitable[Answer]) -> Answer:
    """What `work` answers; the body must have been read. Raises `ClientDisconnect` when the client leaves first."""
    answer = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise ClientDisconnect
        return answer.result()
    finally:
        gone.cancel()
        answer.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
