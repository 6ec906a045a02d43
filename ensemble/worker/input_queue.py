"""A worker's input queue, bounded by requests and by bytes, and what became of all that came; worker, two threads."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass, replace
from typing import Literal

from podium.ensemble.protocol.wire import Request

End = Literal["answered", "errors", "expired"]


@dataclass(frozen=True, slots=True)
class QueuedRequest:
    """A request in the input queue: who sent it, when it came, when it is too late (monotonic seconds)."""

    sender: bytes
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
    """What became of the requests: `came = answered + errors + expired + refused + queued + computing`, always."""

    came: int = 0
    answered: int = 0
    errors: int = 0
    expired: int = 0
    refused: int = 0
    queued: int = 0
    computing: int = 0
    queued_bytes: int = 0
    garbled: int = 0  # not requests, so not in `came`


class InputQueue:
    """One thread puts, another takes; a request counts as queued until it is computed or expires."""

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._queue: queue.SimpleQueue[QueuedRequest | None] = queue.SimpleQueue()
        self._counts = QueueCounts()
        self._lock = threading.Lock()

    @property
    def counts(self) -> QueueCounts:
        """A copy as of one moment."""
        with self._lock:
            return replace(self._counts)

    # The thread that owns the socket.

    def put(self, waiting: QueuedRequest) -> bool:
        """Queue a request; False, at once, when the queue is full."""
        size = waiting.request.inputs.nbytes
        with self._lock:
            counts = self._counts
            counts.came += 1
            if counts.queued >= self._max_requests or (counts.queued and counts.queued_bytes + size > self._max_bytes):
                counts.refused += 1
                return False
            counts.queued += 1
            counts.queued_bytes += size
        self._queue.put(waiting)
        return True

    def refuse(self) -> None:
        """Count a request that is refused whether there is room or not."""
        with self._lock:
            self._counts.came += 1
            self._counts.refused += 1

    def garbled(self) -> None:
        """Count what is no request."""
        with self._lock:
            self._counts.garbled += 1

    def close(self) -> None:
        """Wake the other thread, for good."""
        self._queue.put(None)

    # The thread that owns the network.

    def take(self, *, timeout_s: float | None) -> list[QueuedRequest] | None:
        """All that came since, in order; the first is waited for, up to `timeout_s`. None: closed."""
        taken: list[QueuedRequest] = []
        try:
            first = self._queue.get(timeout=timeout_s) if timeout_s != 0 else self._queue.get_nowait()
            while first is not None:
                taken.append(first)
                first = self._queue.get_nowait()
        except queue.Empty:
            return taken
        return None

    def began(self, waiting: QueuedRequest) -> None:
        """It leaves the queue to be computed."""
        with self._lock:
            self._leave(waiting)
            self._counts.computing += 1

    def ended(self, end: End) -> None:
        """One that was computed."""
        with self._lock:
            self._counts.computing -= 1
            self._count(end)

    def expired(self, waiting: QueuedRequest) -> None:
        """It leaves the queue without having been computed."""
        with self._lock:
            self._leave(waiting)
            self._count("expired")

    def _leave(self, waiting: QueuedRequest) -> None:
        self._counts.queued -= 1
        self._counts.queued_bytes -= waiting.request.inputs.nbytes

    def _count(self, end: End) -> None:
        setattr(self._counts, end, getattr(self._counts, end) + 1)
