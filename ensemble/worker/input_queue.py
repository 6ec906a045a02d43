"""A worker's input queue, bounded in requests and bytes, and its counters; worker process, two threads."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from podium.ensemble.protocol.prediction_messages import Request

QueueResult = Literal["answered", "errors", "expired"]


class QueuedRequest(msgspec.Struct, frozen=True, eq=False):
    """A request in the queue: its sender, arrival and deadline (monotonic seconds)."""

    sender: int
    request: Request
    arrived_s: float
    due_s: float

    @property
    def rows(self) -> int:
        return len(self.request.inputs)

    @property
    def width(self) -> int:
        width: int = self.request.inputs.shape[1]
        return width


@dataclass(slots=True)
class QueueCounts:
    """Counters; always `received = answered + errors + expired + refused + queued + computing`."""

    received: int = 0
    answered: int = 0
    errors: int = 0
    expired: int = 0
    refused: int = 0
    queued: int = 0
    computing: int = 0
    queued_bytes: int = 0
    malformed: int = 0  # invalid messages, not included in `received`


class InputQueue:
    """A queue with one consumer thread at a time; requests are queued until they are computed or expire."""

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._queue: queue.SimpleQueue[list[QueuedRequest] | None] = queue.SimpleQueue()  # None: closed
        self._counts = QueueCounts()
        self._lock = threading.Lock()

    @property
    def counts(self) -> QueueCounts:
        """A consistent copy of the counters."""
        with self._lock:
            return replace(self._counts)

    @property
    def empty(self) -> bool:
        """Whether `take` would find nothing."""
        return self._queue.empty()

    # The thread that has received.

    def put(self, requests: Sequence[QueuedRequest]) -> list[QueuedRequest]:
        """Queue the requests of one message without blocking. Returns those for which the queue is too full."""
        accepted: list[QueuedRequest] = []
        refused: list[QueuedRequest] = []
        with self._lock:
            counts = self._counts
            counts.received += len(requests)
            for waiting in requests:
                size = waiting.request.inputs.nbytes
                too_many = counts.queued >= self._max_requests
                if too_many or (counts.queued and counts.queued_bytes + size > self._max_bytes):
                    counts.refused += 1
                    refused.append(waiting)
                else:
                    counts.queued += 1
                    counts.queued_bytes += size
                    accepted.append(waiting)
        if accepted:
            self._queue.put(accepted)
        return refused

    def count_refused(self, requests: int) -> None:
        """Count requests that are refused for another reason than a full queue."""
        with self._lock:
            self._counts.received += requests
            self._counts.refused += requests

    def count_malformed(self) -> None:
        """Count an invalid message."""
        with self._lock:
            self._counts.malformed += 1

    def close(self) -> None:
        """Close the queue and wake the consumer."""
        self._queue.put(None)

    # The thread that computes.

    def take(self, *, timeout_s: float) -> list[QueuedRequest] | None:
        """Return all queued requests in order, after waiting up to `timeout_s` for the first. None: closed."""
        taken: list[QueuedRequest] = []
        try:
            first = self._queue.get(timeout=timeout_s) if timeout_s != 0 else self._queue.get_nowait()
            while first is not None:
                taken += first
                first = self._queue.get_nowait()
        except queue.Empty:
            return taken
        return None

    def start(self, batch: Sequence[QueuedRequest]) -> None:
        """Move the requests from queued to computing."""
        with self._lock:
            for waiting in batch:
                self._remove(waiting)
            self._counts.computing += len(batch)

    def finish(self, end: QueueResult, requests: int = 1) -> None:
        """Record the end of requests that were computed."""
        with self._lock:
            self._counts.computing -= requests
            self._count(end, requests)

    def expire(self, waiting: QueuedRequest) -> None:
        """Record a request that expired in the queue."""
        with self._lock:
            self._remove(waiting)
            self._count("expired")

    def _remove(self, waiting: QueuedRequest) -> None:
        self._counts.queued -= 1
        self._counts.queued_bytes -= waiting.request.inputs.nbytes

    def _count(self, end: QueueResult, requests: int = 1) -> None:
        setattr(self._counts, end, getattr(self._counts, end) + requests)
