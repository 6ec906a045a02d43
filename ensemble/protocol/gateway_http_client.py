"""HTTP to the gateway processes through their Unix sockets, any of which answers; api and host.

Requests take turns. A process that does not accept the connection is being restarted, and the next one gets the
request; a request that a process has received is not repeated.
"""

from __future__ import annotations

import itertools
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import httpx2

BASE_URL = "http://gateway"
# A Unix socket needs no TLS. Without this context, a client loads all certificate authorities: 25 to 100 ms.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
Item = TypeVar("Item")


class GatewayTransport(httpx2.BaseTransport):
    """The sockets of all gateway processes."""

    def __init__(self, sockets: Sequence[Path]) -> None:
        self._transports = [httpx2.HTTPTransport(uds=str(path), verify=NO_TLS) for path in sockets]
        self._turns = itertools.count()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        first, *others = _rotated(self._transports, next(self._turns))
        for each in others:
            try:
                return first.handle_request(request)
            except httpx2.ConnectError:
                first = each
        return first.handle_request(request)

    def close(self) -> None:
        for each in self._transports:
            each.close()


class AsyncGatewayTransport(httpx2.AsyncBaseTransport):
    """The same for an event loop; `limits` hold for each gateway process."""

    def __init__(self, sockets: Sequence[Path], limits: httpx2.Limits) -> None:
        self._transports = [httpx2.AsyncHTTPTransport(uds=str(path), limits=limits, verify=NO_TLS) for path in sockets]
        self._turns = itertools.count()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        first, *others = _rotated(self._transports, next(self._turns))
        for each in others:
            try:
                return await first.handle_async_request(request)
            except httpx2.ConnectError:
                first = each
        return await first.handle_async_request(request)

    async def aclose(self) -> None:
        for each in self._transports:
            await each.aclose()


def _rotated(items: Sequence[Item], turn: int) -> list[Item]:
    """The items, starting with another one at each turn."""
    start = turn % len(items)
    return [*items[start:], *items[:start]]
