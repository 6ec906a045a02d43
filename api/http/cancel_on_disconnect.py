"""Cancels the work for a request when its client disconnects; api and gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect

Answer = TypeVar("Answer")


async def cancel_on_disconnect(request: Request, work: Awaitable[Answer]) -> Answer:
    """The result of `work`. Raises `ClientDisconnect` if the client disconnects first; `work` is cancelled then.

    The request body must have been read.
    """
    answer = asyncio.ensure_future(work)
    disconnected = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait((answer, disconnected), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise ClientDisconnect
        return answer.result()
    finally:
        disconnected.cancel()
        answer.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
