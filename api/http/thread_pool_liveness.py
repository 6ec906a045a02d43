"""Finds out whether the threads that serve requests still finish calls; api.

Routes run in the threads of AnyIO (functions without `async`) and of the event loop (`asyncio.to_thread`). Once a
second, a call that does nothing is sent through each of the two pools. A pool is stuck if that call waits while no
other call of the pool ends: a pool with a long queue is busy, not stuck.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from anyio import to_thread

PROBE_S = 1.0
Result = TypeVar("Result")
log = logging.getLogger("podium.threads")


class CountingExecutor(ThreadPoolExecutor):
    """A thread pool that knows how many of its calls have ended."""

    def __init__(self, threads: int | None = None) -> None:
        super().__init__(threads, thread_name_prefix="asyncio")
        self._counter = itertools.count(1)
        self.ended = 0

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Run a call in a thread."""
        future = super().submit(fn, *args, **kwargs)
        future.add_done_callback(self._on_end)
        return future

    def _on_end(self, _: object) -> None:
        self.ended = next(self._counter)


class _Pool:
    """One pool, with the call that probes it."""

    def __init__(self, call: Callable[[], Coroutine[Any, Any, None]], progress: Callable[[], object]) -> None:
        self._call = call
        self._progress = progress
        self._probe: asyncio.Task[bool] | None = None
        self._mark: object = None

    def serves(self) -> bool:
        """Whether the last probe has passed, or other calls have ended since the last time."""
        last = self._probe
        if last is None or last.done():
            self._probe = asyncio.create_task(self._passes())
            self._mark = self._progress()
            return last is None or last.result()
        before, self._mark = self._mark, self._progress()
        return self._mark != before

    async def _passes(self) -> bool:
        try:
            await self._call()
        except RuntimeError as error:
            log.error("cannot run calls in threads: %s", error)  # no more threads can be started
            return False
        return True


class ThreadPoolWatch:
    """Calls `beat` from the event loop while both pools serve; to be called often, in the loop."""

    def __init__(
        self,
        beat: Callable[[], None],
        *,
        probe_s: float = PROBE_S,
        threads: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`beat`: sends a heartbeat. `threads`: of asyncio's pool; None: as many as Python chooses."""
        self._beat = beat
        self._probe_s = probe_s
        self._threads = threads
        self._clock = clock
        self._due_s = 0.0
        self._pools: tuple[_Pool, ...] = ()

    def __call__(self) -> None:
        """Probe the pools once a second, and send a heartbeat if they serve."""
        now_s = self._clock()
        if now_s < self._due_s:
            return
        self._due_s = now_s + self._probe_s
        if not self._pools:
            self._pools = _pools_of_this_loop(self._threads)
        serving = [pool.serves() for pool in self._pools]  # probes each of them
        if all(serving):
            self._beat()


def _pools_of_this_loop(threads: int | None) -> tuple[_Pool, _Pool]:
    executor = CountingExecutor(threads)
    asyncio.get_running_loop().set_default_executor(executor)
    limiter = to_thread.current_default_thread_limiter()
    return (
        _Pool(lambda: to_thread.run_sync(_nothing), lambda: frozenset(map(id, limiter.statistics().borrowers))),
        _Pool(lambda: asyncio.to_thread(_nothing), lambda: executor.ended),
    )


def _nothing() -> None:
    """What a probe calls."""
