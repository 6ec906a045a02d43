"""An aggregator on fakes: the test advances the time and controls every message."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from podium.ensemble.protocol.prediction_messages import Reply, Request, pack_reply, unpack_requests
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.aggregator_counts import MemberCounts
from podium.ensemble.serving.aggregator_limits import AggregatorLimits
from podium.ensemble.serving.deadline_margin import DeadlineMargin
from podium.ensemble.serving.pending_request import PendingRequest
from podium.ensemble.serving.unix_socket_transport import Frames, Listener
from podium.ensemble.values.ensemble_snapshot import Snapshot, Traffic
from podium.ensemble.values.prediction import MemberStatus, Prediction
from tests.ensemble_fakes import ROWS, ok

_START_S = 1000.0


@dataclass(order=True)
class _Call:
    due_s: float
    number: int
    callback: Callable[[], object] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.cancelled = True


class FakeTimer:
    """A timer that the test advances; due calls then run in order, each in a turn of its own."""

    def __init__(self) -> None:
        self._now_s = _START_S
        self._calls: list[_Call] = []
        self._soon: list[Callable[[], object]] = []
        self._numbers = itertools.count()

    def now_s(self) -> float:
        return self._now_s

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> _Call:
        call = _Call(self._now_s + max(0.0, delay_s), next(self._numbers), callback)
        heapq.heappush(self._calls, call)
        return call

    def call_soon(self, callback: Callable[[], object]) -> None:
        self._soon.append(callback)

    def end_turn(self) -> None:
        """Run what was to be called soon."""
        while self._soon:
            self._soon.pop(0)()

    @property
    def waiting(self) -> int:
        """The number of scheduled calls."""
        return sum(not call.cancelled for call in self._calls) + len(self._soon)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        until_s = self._now_s + seconds
        while self.step(until_s):
            pass

    def stall(self, seconds: float) -> None:
        """Advance the time without running the calls that become due, as in a delayed process."""
        self._now_s += seconds

    def step(self, until_s: float) -> bool:
        """Advance to the next call due by then and run it; False: there is none, and the time has passed."""
        while self._calls and self._calls[0].due_s <= until_s:
            call = heapq.heappop(self._calls)
            if not call.cancelled:
                self._now_s = max(self._now_s, call.due_s)
                call.callback()
                self.end_turn()
                return True
        self._now_s = until_s
        return False


class FakeConnection:
    """A connection to a worker. `sent` contains the requests until the test makes the worker answer.

    `send` never calls the listener, as with sockets: replies arrive later, each message in a turn of its own.
    """

    def __init__(self, endpoint: str, listener: Listener, timer: FakeTimer) -> None:
        self.endpoint = endpoint
        self.sent: list[Request] = []
        self.bundles: list[int] = []  # number of requests in each message
        self.full = False
        self.closed = False
        self._listener = listener
        self._timer = timer

    def send(self, frames: Frames) -> bool:
        assert not self.closed, f"sent to {self.endpoint}, which is closed"
        if self.full:
            return False
        requests = unpack_requests([bytes(frame) for frame in frames])
        self.sent += requests
        self.bundles.append(len(requests))
        return True

    def reply_is_late(self) -> None:
        """The test disconnects it."""

    def close(self) -> None:
        self.closed = True

    def answer(self, reply: Reply | list[bytes]) -> None:
        """The worker sends this; it is lost once the connection is closed."""
        if not self.closed:
            frames = pack_reply(reply) if isinstance(reply, Reply) else reply
            self._listener.on_message([bytes(frame) for frame in frames])
            self._timer.end_turn()

    def send_first(self, first: float = 0.5, **changes: object) -> None:
        """A valid answer to the last request, except for `changes`."""
        self.answer(replace(ok(self.sent[-1], first), **changes))

    def disconnect(self) -> None:
        """The worker's process has died."""
        if not self.closed:
            self._listener.on_disconnect()
            self._timer.end_turn()

    def reconnect(self) -> None:
        """The worker is reachable again."""
        if not self.closed:
            self._listener.on_reconnect()
            self._timer.end_turn()


class FakeTransport:
    """Opens fake connections; the last one to each endpoint is at `transport[endpoint]`."""

    def __init__(self, timer: FakeTimer) -> None:
        self._timer = timer
        self.connections: list[FakeConnection] = []
        self.closed = False

    def open(self, endpoint: str, listener: Listener) -> FakeConnection:
        self.connections.append(FakeConnection(endpoint, listener, self._timer))
        return self.connections[-1]

    def close(self) -> None:
        self.closed = True

    def __getitem__(self, endpoint: str) -> FakeConnection:
        return next(connection for connection in reversed(self.connections) if connection.endpoint == endpoint)


class AggregatorRig:
    """An aggregator, its fakes, and its responses."""

    def __init__(
        self, *traffic: Traffic, limits: AggregatorLimits | None = None, expiry_reserve_s: float = 0.0
    ) -> None:
        self.timer = FakeTimer()
        self.transport = FakeTransport(self.timer)
        self.deaths: list[float] = []
        self.done: list[Prediction] = []
        self.aggregator = Aggregator(
            self.transport,
            self.timer,
            lambda: self.deaths.append(self.timer.now_s()),
            limits=limits,
            rng=Random(5),
            deadline_margin=DeadlineMargin(expiry_reserve_s),
        )
        self.update(*traffic)

    def update(self, *traffic: Traffic) -> None:
        self.aggregator.update(traffic)
        self.timer.end_turn()

    def admit(
        self, snapshot: Snapshot, deadline_ms: float | None = None, inputs: NDArray[np.float32] = ROWS
    ) -> PendingRequest:
        """Admit a request in a turn of its own."""
        pending = self.queue(snapshot, deadline_ms, inputs)
        self.timer.end_turn()
        return pending

    def queue(
        self, snapshot: Snapshot, deadline_ms: float | None = None, inputs: NDArray[np.float32] = ROWS
    ) -> PendingRequest:
        """Admit a request in a turn that continues."""
        return self.aggregator.admit(snapshot, inputs, deadline_ms, self.done.append)

    def connections(self, *endpoints: str) -> list[FakeConnection]:
        return [self.transport[endpoint] for endpoint in endpoints]

    def counts(self, replica_id: int) -> MemberCounts:
        return self.aggregator.counts.members[replica_id]

    def assert_identities(self) -> None:
        """Assert that admitted = outcomes + in flight, and sent = the results of what was sent."""
        for ensemble in self.aggregator.counts.ensembles.values():
            assert ensemble.admitted == sum(ensemble.outcomes.values()) + ensemble.in_flight
        for counts in self.aggregator.counts.members.values():
            assert counts.sent == counts.pending + sum(ended_count(counts))

    def assert_idle(self) -> None:
        """Assert that no request, slot or scheduled call is left."""
        self.assert_identities()
        assert not any(each.in_flight for each in self.aggregator.counts.ensembles.values())
        assert not any(each.pending for each in self.aggregator.counts.members.values())
        assert self.aggregator.in_flight == self.aggregator.in_flight_bytes == 0
        assert not any(link.pending for link in self.aggregator.links.by_replica.values())
        assert self.timer.waiting == 0


def ended_count(counts: MemberCounts) -> Iterable[int]:
    """The outcomes of the requests that are not pending."""
    return counts.ok, counts.late, counts.error, counts.died, counts.dropped


def statuses(prediction: Prediction) -> list[MemberStatus]:
    return [report.status for report in prediction.reports]


def firsts(prediction: Prediction) -> Sequence[float]:
    """The probability of the first class in the first row, for each member that answered."""
    assert prediction.member_outputs is not None
    found: list[float] = prediction.member_outputs[:, 0, 0].tolist()
    return found
