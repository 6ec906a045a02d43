"""The event queue of a slot: order, limits and urgency."""

from __future__ import annotations

from podium.sweep.protocol.message_limits import (
    MAX_EVENT_BYTES,
    MAX_EVENT_BYTES_PER_CALL,
    MAX_EVENTS,
    MAX_EVENTS_PER_CALL,
)
from podium.sweep.protocol.scheduler_slot_messages import decode_events
from podium.sweep.slots.event_queue import EventQueue
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.slot_events import Logged, Reported

KEY = AttemptKey(1, 1)


def _fill(queue: EventQueue, count: int) -> None:
    for step in range(count):
        queue.add(Reported(KEY, step, 0.5, 1.0), urgent=False)


def _large(size: int) -> Logged:
    return Logged(KEY, 0, {"n" * size: 1.0}, 1.0)


def _numbers(content: bytes) -> list[int]:
    return [number for number, _ in decode_events(content) or ()]


def test_events_are_kept_until_acknowledged() -> None:
    queue = EventQueue()
    _fill(queue, 3)
    assert _numbers(queue.oldest()) == _numbers(queue.oldest()) == [1, 2, 3]
    assert list(queue.acknowledge(2)) == [1, 2]
    assert _numbers(queue.all()) == [3] and len(queue) == 1
    assert list(queue.acknowledge(9)) == [3]
    assert (len(queue), queue.size_bytes, queue.last_number) == (0, 0, 3)


def test_call_returns_a_limited_number_of_events_and_at_least_one() -> None:
    queue = EventQueue()
    _fill(queue, MAX_EVENTS_PER_CALL + 1)
    assert queue.is_urgent and len(_numbers(queue.oldest())) == MAX_EVENTS_PER_CALL
    queue = EventQueue()
    for _ in range(2):
        queue.add(_large(MAX_EVENT_BYTES_PER_CALL), urgent=False)
    assert queue.is_urgent and _numbers(queue.oldest()) == [1]


def test_event_is_urgent_until_acknowledged() -> None:
    queue = EventQueue()
    _fill(queue, 1)
    assert not queue.is_urgent
    queue.add(Reported(KEY, 1, 0.5, 1.0), urgent=True)
    _fill(queue, 1)
    assert queue.is_urgent
    assert list(queue.acknowledge(2)) == [1, 2]
    assert not queue.is_urgent and len(queue) == 1


def test_queue_is_full_by_number_or_by_size() -> None:
    queue = EventQueue()
    _fill(queue, MAX_EVENTS - 1)
    assert not queue.is_full
    _fill(queue, 1)
    assert queue.is_full
    queue = EventQueue()
    queue.add(_large(MAX_EVENT_BYTES), urgent=False)
    assert queue.is_full
