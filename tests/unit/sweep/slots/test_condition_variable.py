"""Waiting for a condition: evaluated at each change, until a timeout."""

from __future__ import annotations

import asyncio

from podium.sweep.slots.condition_variable import Changes


def test_condition_that_holds_needs_no_change() -> None:
    assert asyncio.run(Changes().wait_until(lambda: True, 0.0))


def test_every_waiter_evaluates_its_condition_at_each_change() -> None:
    async def scenario() -> tuple[list[int], bool]:
        changes, count, met = Changes(), 0, []

        async def wait(number: int) -> None:
            assert await changes.wait_until(lambda: count >= number, 5.0)
            met.append(number)

        tasks = [asyncio.create_task(wait(number)) for number in (2, 1, 2)]
        await asyncio.sleep(0)
        for count in (1, 2):  # noqa: B007 - the conditions read it
            changes.notify()
            changes.notify()
            await asyncio.sleep(0.01)
        return met, all(task.done() for task in tasks)

    assert asyncio.run(scenario()) == ([1, 2, 2], True)


def test_unmet_condition_ends_at_timeout() -> None:
    async def scenario() -> bool:
        changes = Changes()
        asyncio.get_running_loop().call_later(0.01, changes.notify)
        return await changes.wait_until(lambda: False, 0.05)

    assert asyncio.run(scenario()) is False


def test_canceled_waiter_is_forgotten() -> None:
    async def scenario() -> int:
        changes = Changes()
        task = asyncio.create_task(changes.wait_until(lambda: False))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        changes.notify()
        return len(changes.waiting)

    assert asyncio.run(scenario()) == 0
