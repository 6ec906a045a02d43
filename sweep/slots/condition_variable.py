"""Waits until a condition holds, evaluated at each change; slot.

As `asyncio.Condition`, but without its lock, which one event loop does not need: a change is announced by a plain call
instead of a task that waits for the lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Changes:
    """The changes of an object; all calls are made in one event loop."""

    def __init__(self) -> None:
        self.waiting: set[asyncio.Future[None]] = set()

    def notify(self) -> None:
        """Announce a change."""
        for waiting in self.waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def wait_until(self, condition: Callable[[], bool], timeout_s: float | None = None) -> bool:
        """Wait until `condition` holds; returns whether it did within `timeout_s`."""
        if condition():
            return True
        try:
            async with asyncio.timeout(timeout_s):
                while not condition():
                    await self._next()
        except TimeoutError:
            return condition()
        return True

    async def _next(self) -> None:
        waiting = asyncio.get_running_loop().create_future()
        self.waiting.add(waiting)
        try:
            await waiting
        finally:
            self.waiting.discard(waiting)
