"""Heartbeats of a loop: at each turn and between its parts, only from its thread, and none before its first turn."""

from __future__ import annotations

import threading

import pytest

from podium.sweep.runtime.loop_heartbeat import LoopHeartbeat


@pytest.fixture
def sent() -> list[str]:
    """The threads that have sent a heartbeat."""
    return []


@pytest.fixture
def heartbeat(sent: list[str]) -> LoopHeartbeat:
    return LoopHeartbeat(lambda: sent.append(threading.current_thread().name))


def test_turns_and_their_parts_send_heartbeats(heartbeat: LoopHeartbeat, sent: list[str]) -> None:
    heartbeat.on_progress()
    assert sent == [], "the loop has not started"
    heartbeat.on_turn()
    heartbeat.on_progress()
    assert len(sent) == 2


def test_other_threads_do_not_hide_a_loop_that_hangs(heartbeat: LoopHeartbeat, sent: list[str]) -> None:
    heartbeat.on_turn()
    other = threading.Thread(target=heartbeat.on_progress)
    other.start()
    other.join()
    assert sent == [threading.current_thread().name]
