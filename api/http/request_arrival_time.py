"""The time at which the event loop began to read the end of a request, from which its deadline counts; api and gateway.

Between that time and the call of the endpoint, the event loop answers other requests: milliseconds under load.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, MutableMapping
from typing import Any

from starlette.requests import HTTPConnection

EXTENSION = "podium.arrival"  # of the ASGI scope: seconds on the monotonic clock


class ReadClock:
    """The time at which the event loop began to read what has arrived: the same for all requests of one turn.

    The loop reads one connection after the other, and processes each request before it reads the next one: with many
    clients, the last request of a turn is read milliseconds after it arrived.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._began_s: float | None = None

    def began_s(self) -> float:
        """The time (monotonic), to be called when data is received; the first call of a turn sets it."""
        if self._began_s is None:
            self._began_s = self._now_s()
            asyncio.get_running_loop().call_soon(self._end_turn)
        return self._began_s

    def _end_turn(self) -> None:
        self._began_s = None


def note(scope: MutableMapping[str, Any], arrived_s: float) -> None:
    """Store the time in the scope of a request."""
    scope["extensions"][EXTENSION] = arrived_s


def arrived_s(request: HTTPConnection) -> float | None:
    """The time (monotonic); None if it is not known, as for a request that waited for the answer to an earlier one."""
    found: float | None = request.scope.get("extensions", {}).get(EXTENSION)
    return found
