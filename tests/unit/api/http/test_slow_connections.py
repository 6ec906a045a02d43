"""Whom the service waits for: each as long as it may be, and who goes when there is no room."""

from __future__ import annotations

from podium.api.http.slow_connections import LIMITS_S, Awaited, SlowConnections


def test_who_takes_too_long_is_said_once() -> None:
    waiting: SlowConnections[str] = SlowConnections()
    waiting.begin("slow", Awaited.HEAD, 0.0)
    waiting.begin("slower", Awaited.BODY, 0.0)
    waiting.begin("slow", Awaited.HEAD, 9.0)  # another byte is no head
    assert waiting.overdue(LIMITS_S[Awaited.HEAD], 9) == []
    assert waiting.overdue(LIMITS_S[Awaited.HEAD] + 0.1, 9) == [("slow", Awaited.HEAD)]
    assert waiting.overdue(LIMITS_S[Awaited.HEAD] + 0.1, 9) == []
    assert waiting.overdue(LIMITS_S[Awaited.BODY] + 0.1, 9) == [("slower", Awaited.BODY)]


def test_of_many_who_take_too_long_some_are_said_at_once() -> None:
    waiting: SlowConnections[int] = SlowConnections()
    for number in range(5):
        waiting.begin(number, Awaited.HEAD, 0.0)
    assert [[client for client, _ in waiting.overdue(99.0, 2)] for _ in range(4)] == [[0, 1], [2, 3], [4], []]


def test_what_has_come_is_waited_for_anew() -> None:
    waiting: SlowConnections[str] = SlowConnections()
    waiting.begin("client", Awaited.HEAD, 0.0)
    waiting.end("client", Awaited.HEAD)
    waiting.begin("client", Awaited.HEAD, 8.0)
    assert waiting.overdue(12.0, 9) == []
    assert waiting.overdue(19.0, 9) == [("client", Awaited.HEAD)]


def test_room_is_made_by_those_who_owe_a_head_and_then_by_others_the_oldest_first() -> None:
    waiting: SlowConnections[str] = SlowConnections()
    waiting.begin("sends a body", Awaited.BODY, 0.0)
    waiting.begin("does not read", Awaited.READING, 0.0)
    waiting.begin("mute", Awaited.HEAD, 1.0)
    waiting.begin("mute, and newer", Awaited.HEAD, 2.0)
    waiting.begin("gone", Awaited.HEAD, 0.5)
    waiting.forget("gone")
    expected = ["mute", "mute, and newer", "sends a body", "does not read", None]
    assert [waiting.pop_longest() for _ in expected] == expected
