"""The gateway's link to one replica: its requests in flight, latency and circuit breaker; gateway process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.ensemble.protocol.prediction_messages import (
    MAX_ITEMS,
    Frames,
    Reply,
    Request,
    WireError,
    concatenate,
    pack_requests,
    unpack_replies,
)
from podium.ensemble.serving.aggregator_counts import AggregatorCounts
from podium.ensemble.serving.aggregator_limits import AggregatorLimits
from podium.ensemble.serving.circuit_breaker import CircuitBreaker
from podium.ensemble.serving.replica_latency import LatencyStatistics, LatencyWindow
from podium.ensemble.serving.unix_socket_transport import Timer, Transport
from podium.ensemble.values.ensemble_snapshot import Replica
from podium.ensemble.values.ensemble_states import MemberState
from podium.ensemble.values.prediction import MemberStatus

ABANDON_AFTER_S = 120.0  # a request without a reply for this long is no longer counted as in flight
MIN_IN_FLIGHT_FOR_ESTIMATE = 8  # the wait is not estimated while fewer requests are in flight
_REMEMBERED = 4096
_PROCESS_GONE = "its process is gone"


class LinkReply(msgspec.Struct, frozen=True, eq=False):
    """How a request to one replica ended: with a reply, or with the reason why there is none."""

    reply: Reply | None
    status: MemberStatus
    message: str = ""


OnReply = Callable[[LinkReply], None]
OnUnsent = Callable[[MemberStatus, str], None]


class QueuedSend(msgspec.Struct, frozen=True, eq=False):
    """A request that is sent with the next bundle."""

    request_id: int
    inputs: NDArray[np.float32]  # (rows, features)
    due_s: float
    on_reply: OnReply
    on_unsent: OnUnsent


class SharedMessages:
    """The messages of one flush at `now_s`: members in the same epoch that get the same requests get the same message.

    Members in different epochs share the rows.
    """

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s
        self._rows: dict[tuple[int, ...], NDArray[np.float32]] = {}
        self._frames: dict[tuple[int, ...], Frames] = {}

    def of(self, items: Sequence[QueuedSend], epoch: int) -> Frames:
        """The frames of the message with these requests."""
        ids = tuple([item.request_id for item in items])
        frames = self._frames.get((epoch, *ids))
        if frames is None:
            rows = self._rows.get(ids)
            if rows is None:
                rows = self._rows[ids] = concatenate([item.inputs for item in items])
            requests = [
                Request(item.request_id, epoch, (item.due_s - self.now_s) * 1000, item.inputs) for item in items
            ]
            frames = self._frames[epoch, *ids] = pack_requests(requests, rows)
        return frames


class _InFlight(msgspec.Struct, frozen=True, gc=False):
    """A request that the worker has not answered."""

    bytes: int
    sent_s: float
    is_probe: bool


@dataclass(frozen=True, slots=True)
class LinkHealth:
    """The state and latency of a replica over its last requests."""

    replica_id: int
    state: MemberState
    reason: str
    epoch: int
    p50_ms: float | None
    p99_ms: float | None
    late_share: float
    waiting: int  # requests that the replica has not answered


class ReplicaLink:
    """A connection to one replica in one epoch; a restarted replica gets a new link.

    A reply counts only if its request is pending on this link; any other reply is dropped and counted.
    """

    def __init__(
        self, replica: Replica, transport: Transport, timer: Timer, *, counts: AggregatorCounts,
        limits: AggregatorLimits, on_death: Callable[[], None], on_replies: Callable[[], None],
    ) -> None:  # fmt: skip
        assert replica.endpoint is not None
        self.replica_id = replica.replica_id
        self.endpoint = replica.endpoint
        self.epoch = replica.epoch
        self.breaker = CircuitBreaker()
        self.counts = counts.member(replica.replica_id)
        self.down = False
        self._dropped_replies = counts.dropped
        self._timer = timer
        self._limits = limits
        self._on_death = on_death
        self._on_replies = on_replies  # called after each message, and after the connection was lost
        self._queued: dict[int, QueuedSend] = {}  # sent with the next bundle
        self._queued_bytes = 0
        self._pending: dict[int, OnReply] = {}  # a client waits for these
        self._in_flight: OrderedDict[int, _InFlight] = OrderedDict()  # the worker has not answered these
        self._in_flight_bytes = 0
        self._answered: OrderedDict[int, None] = OrderedDict()
        self._latency = LatencyStatistics(limits.replies_per_quantile)
        self._service_s = 0.0  # time between two replies while busy, smoothed
        self._last_reply_s = 0.0
        self._unresponsive_since_s: float | None = None  # None while nothing is in flight
        self._connection = transport.open(self.endpoint, self)

    # Sending.

    def unavailable_reason(self) -> tuple[MemberStatus, str] | None:
        """Why no request can be sent now, or None if one can."""
        if self.down:
            return MemberStatus.UNAVAILABLE, _PROCESS_GONE
        if self.breaker.is_open:
            return MemberStatus.SKIPPED_OPEN, self.breaker.reason
        if self._is_full():
            self._drop_abandoned()
            if self._is_full():
                return MemberStatus.QUEUE_FULL, f"{self.in_flight} requests are in flight to it"
        return None

    @property
    def in_flight(self) -> int:
        """Number of requests that the worker has not answered, including those queued for the next bundle."""
        return len(self._in_flight) + len(self._queued)

    @property
    def in_flight_ids(self) -> list[int]:
        """Ids of the requests that the worker has not answered, in the order they were sent."""
        return [*self._in_flight, *self._queued]

    @property
    def in_flight_bytes(self) -> int:
        """Bytes of input in the requests that the worker has not answered."""
        return self._in_flight_bytes + self._queued_bytes

    @property
    def pending(self) -> int:
        """Number of requests and probes whose reply is still waited for."""
        return len(self._pending) + len(self._queued)

    def wait_s(self) -> float:
        """Estimated time until a new request is answered; 0 while few are in flight."""
        in_flight = len(self._in_flight) + len(self._queued)
        return in_flight * self._service_s if in_flight >= MIN_IN_FLIGHT_FOR_ESTIMATE else 0.0

    @property
    def p95_ms(self) -> float | None:
        """95th percentile of the latency; None while there are too few replies."""
        return self._latency.p95_ms

    def waited_ms(self, request_id: int) -> float:
        """How long ago this request was sent; 0 if the worker has answered it."""
        sent = self._in_flight.get(request_id)
        return 0.0 if sent is None else (self._timer.now_s() - sent.sent_s) * 1000

    def unresponsive_ms(self) -> float:
        """How long requests have been in flight without any reply."""
        return 0.0 if self._unresponsive_since_s is None else (self._timer.now_s() - self._unresponsive_since_s) * 1000

    def queue(self, item: QueuedSend) -> None:
        """Queue a request for the next bundle."""
        self._queued[item.request_id] = item
        self._queued_bytes += item.inputs.nbytes

    def flush(self, shared: SharedMessages) -> None:
        """Send the queued requests without blocking, as few messages as possible.

        A message that the connection cannot queue ends each of its requests as not sent.
        """
        queued, self._queued, self._queued_bytes = list(self._queued.values()), {}, 0
        for items in _messages(queued):
            if not self._send(items, shared):
                for item in items:
                    item.on_unsent(MemberStatus.QUEUE_FULL, "the send queue of its connection is full")

    def _send(self, items: Sequence[QueuedSend], shared: SharedMessages) -> bool:
        if not self._connection.send(shared.of(items, self.epoch)):
            return False
        for item in items:
            self._pending[item.request_id] = item.on_reply
            self._track(item.request_id, item.inputs.nbytes, shared.now_s, is_probe=False)
        self.counts.sent += len(items)
        self.counts.pending += len(items)
        return True

    def probe(self, request: Request, on_reply: OnReply) -> bool:
        """Send a probe, which is counted in `probes` only. Returns False if the connection's queue is full."""
        self._drop_abandoned()
        if not self._connection.send(pack_requests([request])):
            return False
        self._pending[request.request_id] = on_reply
        self._track(request.request_id, request.inputs.nbytes, self._timer.now_s(), is_probe=True)
        self.counts.probes += 1
        return True

    def abandon(self, request_id: int, status: MemberStatus | None) -> None:
        """Stop waiting for a request because it is late, or (None) because it is no longer needed.

        A request that is still queued leaves the bundle and is not counted: it was never sent.
        """
        if (item := self._queued.pop(request_id, None)) is not None:
            self._queued_bytes -= item.inputs.nbytes
            return
        if self._pending.pop(request_id, None) is None:
            return
        self.counts.record(status)
        if status is MemberStatus.LATE:
            self._latency.record_late()

    def expire_probe(self, request_id: int) -> None:
        """Stop waiting for a probe whose deadline has passed."""
        if (on_reply := self._pending.pop(request_id, None)) is not None:
            on_reply(LinkReply(None, MemberStatus.LATE))

    def reply_is_late(self) -> None:
        """A reply has not arrived by its deadline: the connection may be lost."""
        self._connection.reply_is_late()

    def close(self) -> None:
        """Close the connection; pending requests complete immediately with status `died`."""
        self.down = True
        self._connection.close()
        self._fail_pending()

    @property
    def idle(self) -> bool:
        """Whether nothing is pending."""
        return not self._pending and not self._queued

    # Receiving (`Listener`).

    def on_message(self, frames: list[bytes]) -> None:
        try:
            bundle = unpack_replies(frames)
        except WireError:
            self._dropped_replies["garbled"] += 1
            return
        if bundle.epoch != self.epoch:
            self._dropped_replies["stale_epoch"] += len(bundle.request_ids)
            return
        status, now_s = _status_of(bundle.status), self._timer.now_s()
        for reply in bundle.replies():
            self._receive(reply, status, now_s)
        self._on_replies()

    def _receive(self, reply: Reply, status: MemberStatus, now_s: float) -> None:
        sent = self._in_flight.pop(reply.request_id, None)
        if sent is None:
            self._dropped_replies["duplicate" if reply.request_id in self._answered else "unknown"] += 1
            return
        self._complete(reply.request_id, sent, now_s)
        on_reply = self._pending.pop(reply.request_id, None)
        if status is MemberStatus.OK and not sent.is_probe:
            self._observe((now_s - sent.sent_s) * 1000, late=on_reply is None)
        if on_reply is None:
            self._dropped_replies["late"] += 1
            return
        on_reply(LinkReply(reply, status, reply.message))

    def on_disconnect(self) -> None:
        if not self.down:
            self.down = True
            self._fail_pending()
            self._on_death()

    def on_reconnect(self) -> None:
        self.down = False

    def health(self) -> LinkHealth:
        """The state and latency of the replica now."""
        p50_ms, p99_ms = self._latency.quantiles(0.5, 0.99)
        return LinkHealth(
            replica_id=self.replica_id,
            state=MemberState.RESTARTING if self.down else self.breaker.state,
            reason=self.breaker.reason,
            epoch=self.epoch,
            p50_ms=p50_ms,
            p99_ms=p99_ms,
            late_share=self._latency.late_share(),
            waiting=self.in_flight,
        )

    @property
    def latencies(self) -> LatencyWindow:
        """The latencies of the last replies."""
        return self._latency.window

    def _is_full(self) -> bool:  # called for each request and replica: without the calls of properties
        return (
            len(self._in_flight) + len(self._queued) >= self._limits.replica_requests
            or self._in_flight_bytes + self._queued_bytes >= self._limits.replica_bytes
        )

    def _fail_pending(self) -> None:
        self._in_flight.clear()
        self._in_flight_bytes = 0
        self._unresponsive_since_s = None
        while self._pending:  # one at a time: a callback may abandon another request
            on_reply = self._pending.pop(next(iter(self._pending)))
            on_reply(LinkReply(None, MemberStatus.DIED, _PROCESS_GONE))
        while self._queued:
            request_id, item = next(iter(self._queued.items()))
            self.abandon(request_id, None)
            item.on_unsent(MemberStatus.UNAVAILABLE, _PROCESS_GONE)
        self._on_replies()

    def _track(self, request_id: int, size: int, now_s: float, *, is_probe: bool) -> None:
        self._in_flight[request_id] = _InFlight(size, now_s, is_probe)
        self._in_flight_bytes += size
        if self._unresponsive_since_s is None:
            self._unresponsive_since_s = now_s

    def _complete(self, request_id: int, sent: _InFlight, now_s: float) -> None:
        self._in_flight_bytes -= sent.bytes
        self._unresponsive_since_s = now_s if self._in_flight else None
        self._answered[request_id] = None
        if len(self._answered) > _REMEMBERED:
            self._answered.popitem(last=False)
        interval_s = now_s - max(self._last_reply_s, sent.sent_s)
        self._service_s += 0.1 * (interval_s - self._service_s)
        self._last_reply_s = now_s

    def _drop_abandoned(self) -> None:
        """Stop counting old requests that nobody waits for: a worker that lost replies must not stay full."""
        oldest_s = self._timer.now_s() - ABANDON_AFTER_S
        while self._in_flight:
            request_id, sent = next(iter(self._in_flight.items()))
            if sent.sent_s >= oldest_s or request_id in self._pending:
                return
            del self._in_flight[request_id]
            self._in_flight_bytes -= sent.bytes
        self._unresponsive_since_s = None

    def _observe(self, latency_ms: float, *, late: bool) -> None:
        self._latency.record(latency_ms, late=late)
        if not late:
            self.counts.latency_ms.observe(latency_ms)


def _messages(queued: list[QueuedSend]) -> Iterator[list[QueuedSend]]:
    """The requests of each message: with the same number of features, and at most `MAX_ITEMS`."""
    if len(queued) == 1:
        yield queued
        return
    by_features: dict[int, list[QueuedSend]] = {}
    for item in queued:
        by_features.setdefault(item.inputs.shape[1], []).append(item)
    for same in by_features.values():
        for start in range(0, len(same), MAX_ITEMS):
            yield same[start : start + MAX_ITEMS]


_STATUSES = {
    "ok": MemberStatus.OK,
    "error": MemberStatus.ERROR,
    "expired": MemberStatus.EXPIRED,
    "refused": MemberStatus.REFUSED,
}


def _status_of(status: str) -> MemberStatus:
    return _STATUSES.get(status, MemberStatus.INVALID)


def probe_rows(features: int) -> NDArray[np.float32]:
    """The input of a probe: one row of zeros."""
    return np.zeros((1, features), dtype=np.float32)
