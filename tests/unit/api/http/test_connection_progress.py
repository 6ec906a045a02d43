"""Limits on slow connections: the time limit of each, and which are closed when there are too many."""

from __future__ import annotations

from podium.api.http.connection_progress import LIMITS_S, Awaited, SlowConnections


def test_expired_connection_is_returned_once() -> None:
    waiting: SlowConnections[str] = SlowConnections()
    waiting.begin("slow", Awaited.HEAD, 0.0)
    waiting.begin("slower", Awaited.BODY, 0.0)
    waiting.begin("slow", Awaited.HEAD, 9.0)  # another byte does not complete a head
    assert waiting.overdue(LIMITS_S[Awaited.HEAD], 9) == []
    assert waiting.overdue(LIMITS_S[Awaited.HEAD] + 0.1, 9) == [("slow", Awaited.HEAD)]
    assert waiting.overdue(LIMITS_S[Awaited.HEAD] + 0.1, 9) == []
    assert waiting.overdue(LIMITS_S[Awaited.BODY] + 0.1, 9) == [("slower", Awaited.BODY)]


def test_expired_connections_are_returned_in_batches() -> None:
    waiting: SlowConnections[int] = SlowConnections()
    for number in range(5):
        waiting.begin(number, Awaited.HEAD, 0.0)
    assert [[client for client, _ in waiting.overdue(99.0, 2)] for _ in range(4)] == [[0, 1], [2, 3], [4], []]


def test_time_limit_restarts_after_a_complete_part() -> None:
    waiting: SlowConnections[str] = SlowConnections()
    waiting.begin("client", Awaited.HEAD, 0.0)
    waiting.end("client", Awaited.HEAD)
    waiting.begin("client", Awaited.HEAD, 8.0)
    assert waiting.overdue(12.0, 9) == []
    assert waiting.overdue(19.0, 9) == [("client", Awaited.HEAD)]


def test_connections_without_a_head_are_closed_first_then_the_oldest() -> None:
    waiting: SlowConnections[str] = SlowConnections()
    waiting.begin("sends a body", Awaited.BODY, 0.0)
    waiting.begin("does not read", Awaited.READING, 0.0)
    waiting.begin("mute", Awaited.HEAD, 1.0)
    waiting.begin("mute, and newer", Awaited.HEAD, 2.0)
    waiting.begin("gone", Awaited.HEAD, 0.5)
    waiting.forget("gone")
    expected = ["mute", "mute, and newer", "sends a body", "does not read", None]
    assert [waiting.pop_longest() for _ in expected] == expected
