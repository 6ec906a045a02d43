"""A client that disconnects: its work is cancelled and leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fastapi import Request
from starlette.requests import ClientDisconnect

from podium.api.http.cancel_on_disconnect import EXTENSION, DisconnectSignal, cancel_on_disconnect


def request_of(receive: Callable[[], Awaitable[Any]]) -> Request:
    return Request({"type": "http", "method": "POST", "path": "/", "headers": []}, receive)


async def connected() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


def test_connected_client_gets_the_answer() -> None:
    async def work() -> str:
        return "answer"

    async def main() -> None:
        assert await cancel_on_disconnect(request_of(connected), work()) == "answer"
        assert asyncio.all_tasks() == {asyncio.current_task()} or await _settled()

    asyncio.run(main())


async def _settled() -> bool:
    await asyncio.sleep(0)
    return asyncio.all_tasks() == {asyncio.current_task()}


def test_error_of_the_work_is_raised_to_the_caller() -> None:
    async def work() -> str:
        raise ArithmeticError("poison")

    async def main() -> None:
        with pytest.raises(ArithmeticError, match="poison"):
            await cancel_on_disconnect(request_of(connected), work())

    asyncio.run(main())


def test_work_of_a_disconnected_client_is_cancelled_and_cleaned_up() -> None:
    cleaned = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    async def disconnected() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def main() -> None:
        with pytest.raises(ClientDisconnect):
            await cancel_on_disconnect(request_of(disconnected), work())
        assert await _settled()

    asyncio.run(main())
    assert cleaned == [True]


def test_cancelled_caller_cancels_the_work() -> None:
    cleaned = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    async def main() -> None:
        waiting = asyncio.ensure_future(cancel_on_disconnect(request_of(connected), work()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await _settled()

    asyncio.run(main())
    assert cleaned == [True]


def with_signal(signal: DisconnectSignal) -> Request:
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "extensions": {EXTENSION: signal}}
    return Request(scope, connected)


def test_lost_connection_cancels_the_work_of_all_its_requests() -> None:
    async def main() -> None:
        signal = DisconnectSignal()
        loop = asyncio.get_running_loop()
        works = [loop.create_future() for _ in range(3)]
        waiting = [asyncio.ensure_future(cancel_on_disconnect(with_signal(signal), work)) for work in works]
        works[0].set_result("answer")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        signal.set()
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        assert answers[0] == "answer"
        assert [type(answer) for answer in answers[1:]] == [ClientDisconnect] * 2
        assert [work.cancelled() for work in works] == [False, True, True]

    asyncio.run(main())


def test_request_on_a_lost_connection_is_cancelled() -> None:
    async def main() -> None:
        signal = DisconnectSignal()
        signal.set()
        work = asyncio.get_running_loop().create_future()
        with pytest.raises(ClientDisconnect):
            await cancel_on_disconnect(with_signal(signal), work)
        assert work.cancelled()

    asyncio.run(main())


def test_cancelled_caller_with_a_signal_cancels_the_work() -> None:
    async def main() -> None:
        signal = DisconnectSignal()
        work = asyncio.get_running_loop().create_future()
        waiting = asyncio.ensure_future(cancel_on_disconnect(with_signal(signal), work))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert work.cancelled()

    asyncio.run(main())
