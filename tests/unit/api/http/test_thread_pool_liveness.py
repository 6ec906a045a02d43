"""The api sends heartbeats while both of its thread pools serve: a stuck one is noticed, a busy one is not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest
from anyio import to_thread

from podium.api.http.thread_pool_liveness import ThreadPoolWatch
from tests.fakes import FakeClock

CALLS = 6  # more than both pools have threads: one, so that calls end in their order
Call = Callable[[Callable[[], object]], Awaitable[object]]
POOLS: dict[str, Call] = {"AnyIO": to_thread.run_sync, "asyncio": asyncio.to_thread}


class Seconds:
    """A watch in the event loop of a test, which looks at the pools once in a second of a fake clock."""

    def __init__(self) -> None:
        self._clock = FakeClock()
        self._beats = 0
        self._watch = ThreadPoolWatch(self._count, threads=1, clock=self._clock.monotonic_s)
        to_thread.current_default_thread_limiter().total_tokens = 1
        self._watch()

    async def beats(self, *idle: Call) -> int:
        """How many heartbeats the next second brings, after these pools have passed all calls."""
        await pass_calls(*idle)
        before = self._beats
        self._clock.advance(1.0)
        self._watch()
        await asyncio.sleep(0)  # the probes enter the queues
        return self._beats - before

    async def until_silent(self, *idle: Call) -> None:
        """Wait until a second brings no heartbeat: under load, probes end a few of them later."""
        for _ in range(20):
            if await self.beats(*idle) == 0:
                return
        raise AssertionError("heartbeats continue")

    def _count(self) -> None:
        self._beats += 1


async def pass_calls(*idle: Call) -> None:
    """Wait until these pools have ended the calls that they had."""
    for call in idle:
        for _ in range(3):
            await call(lambda: None)


@contextmanager
def occupied(call: Call) -> Iterator[list[tuple[threading.Event, asyncio.Future[object]]]]:
    """Calls that wait, each for its event; more than the pool has threads."""
    events = [threading.Event() for _ in range(CALLS)]
    try:
        yield [(event, asyncio.ensure_future(call(event.wait))) for event in events]
    finally:
        for event in events:
            event.set()


@pytest.mark.parametrize("name", POOLS)
def test_heartbeats_stop_while_a_pool_is_stuck(name: str) -> None:
    async def run() -> None:
        seconds = Seconds()
        others = [call for other, call in POOLS.items() if other != name]
        assert await seconds.beats(*POOLS.values()) == 1
        await pass_calls(*POOLS.values())
        with occupied(POOLS[name]) as waiting:
            assert await seconds.beats(*others) == 1, "the last probe has passed"
            await seconds.beats(*others)  # the calls have entered the queue meanwhile
            assert [await seconds.beats(*others) for _ in range(5)] == [0] * 5
        await asyncio.gather(*(future for _, future in waiting))
        assert await seconds.beats(*POOLS.values()) == 1, "the threads are free again"

    asyncio.run(run())


@pytest.mark.parametrize("name", POOLS)
def test_pool_with_a_long_queue_is_not_stuck(name: str) -> None:
    async def run() -> None:
        seconds = Seconds()
        others = [call for other, call in POOLS.items() if other != name]
        with occupied(POOLS[name]) as waiting:
            await seconds.until_silent(*others)
            for event, future in waiting[:3]:
                event.set()
                await future
                assert await seconds.beats(*others) == 1, "a call has ended, and the next one has its thread"
                await seconds.until_silent(*others)

    asyncio.run(run())


def test_pool_that_can_start_no_thread_does_not_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    async def run() -> None:
        seconds = Seconds()
        assert await seconds.beats(*POOLS.values()) == 1
        monkeypatch.setattr(to_thread, "run_sync", no_thread)
        await seconds.beats(*POOLS.values())
        assert [await seconds.beats(*POOLS.values()) for _ in range(3)] == [0] * 3

    asyncio.run(run())
