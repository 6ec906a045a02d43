"""The events of a slot that the scheduler has not acknowledged, encoded and bounded; slot."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator

from podium.sweep.protocol.message_limits import (
    MAX_EVENT_BYTES,
    MAX_EVENT_BYTES_PER_CALL,
    MAX_EVENTS,
    MAX_EVENTS_PER_CALL,
)
from podium.sweep.protocol.scheduler_slot_messages import encode_event, join_events
from podium.sweep.values.slot_events import Event


class EventQueue:
    """Events in order, numbered from 1. Writers wait while `is_full`."""

    def __init__(self) -> None:
        self._events: deque[tuple[int, bytes]] = deque()
        self._last_urgent = 0
        self.last_number = 0
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._events)

    @property
    def is_full(self) -> bool:
        return len(self._events) >= MAX_EVENTS or self.size_bytes >= MAX_EVENT_BYTES

    @property
    def is_urgent(self) -> bool:
        """Whether the next call should return now: an urgent event is queued, or as many as one call returns."""
        has_urgent = bool(self._events) and self._events[0][0] <= self._last_urgent
        return has_urgent or len(self._events) >= MAX_EVENTS_PER_CALL or self.size_bytes >= MAX_EVENT_BYTES_PER_CALL

    def add(self, event: Event, *, urgent: bool) -> None:
        """Append an event. `urgent`: a trial waits for the answer, or the scheduler for the slot."""
        self.last_number += 1
        content = encode_event(self.last_number, event)
        self._events.append((self.last_number, content))
        self.size_bytes += len(content)
        if urgent:
            self._last_urgent = self.last_number

    def acknowledge(self, number: int) -> Iterator[int]:
        """Remove events up to `number`; yields the number of each."""
        while self._events and self._events[0][0] <= number:
            acknowledged, content = self._events.popleft()
            self.size_bytes -= len(content)
            yield acknowledged

    def oldest(self) -> bytes:
        """The oldest events, as many as one call may return: at least one, at most 2,000, or 2 MB."""
        chosen: list[bytes] = []
        left_bytes = MAX_EVENT_BYTES_PER_CALL
        for _, content in itertools.islice(self._events, MAX_EVENTS_PER_CALL):
            if chosen and len(content) > left_bytes:
                break
            chosen.append(content)
            left_bytes -= len(content)
        return join_events(chosen)

    def all(self) -> bytes:
        """All events."""
        return join_events(content for _, content in self._events)
