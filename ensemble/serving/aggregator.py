"""The aggregator: sends each request to every member and combines the replies that arrive by the deadline.

Runs in the event loop of the gateway process, which it never blocks. In-graph ensembles use the same path, with one
replica that answers for all members. Time and sockets are accessed through the ports in `unix_socket_transport`, which
tests fake.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import secrets
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.serving.aggregator_counts import AggregatorCounts
from podium.ensemble.serving.aggregator_limits import AggregatorLimits
from podium.ensemble.serving.deadline_margin import DeadlineMargin
from podium.ensemble.serving.input_feature_statistics import InputFeatureStatistics
from podium.ensemble.serving.pending_request import MemberCall, OnDone, PendingRequest
from podium.ensemble.serving.prediction_from_replies import check_reply, join
from podium.ensemble.serving.replica_latency import LatencyWindow
from podium.ensemble.serving.replica_link import LinkHealth, LinkReply, QueuedSend, ReplicaLink, SharedMessages
from podium.ensemble.serving.replica_link_manager import ReplicaLinks, is_warming
from podium.ensemble.serving.replica_sets import workers_of
from podium.ensemble.serving.served_ensembles import ServedEnsembles
from podium.ensemble.serving.unix_socket_transport import LoopTimer, SocketTransport, Timer, Transport
from podium.ensemble.values.ensemble_snapshot import Snapshot, Traffic
from podium.ensemble.values.prediction import MemberStatus, Outcome, Prediction

_MAX_HEDGE_CREDIT = 10.0
log = logging.getLogger("podium.aggregator")


class Aggregator:
    """Distributes requests to members. `docs/explanation/ensembles.md` lists its guarantees; each has a test of the
    same name.
    """

    def __init__(
        self, transport: Transport | None = None, timer: Timer | None = None,
        on_death: Callable[[], None] | None = None, *,
        limits: AggregatorLimits | None = None, rng: random.Random | None = None,
        deadline_margin: DeadlineMargin | None = None,
    ) -> None:  # fmt: skip
        self.counts = AggregatorCounts()
        self._transport = transport or SocketTransport()
        self._timer = timer or LoopTimer()
        self._limits = limits or AggregatorLimits()
        self._expiry_reserve = deadline_margin or DeadlineMargin()
        # A random first id: a reply to a request of an earlier gateway process must not match.
        self._request_ids = itertools.count(secrets.randbits(48) << 14)
        self._links = ReplicaLinks(
            self._transport, self._timer, counts=self.counts, request_ids=self._request_ids, limits=self._limits,
            on_death=on_death or (lambda: None), on_replies=self._join_answered,
        )  # fmt: skip
        self._to_flush: dict[ReplicaLink, None] = {}  # links with queued requests
        self._answered: list[PendingRequest] = []  # every call is complete; joined together
        self.ensembles = ServedEnsembles(self._can_serve, rng)
        self.inputs = InputFeatureStatistics()
        self._in_flight: dict[int, PendingRequest] = {}  # admitted requests without an outcome, by request id
        self._in_flight_bytes = 0
        self._hedge_credit = 0.0  # hedges that may be sent

    # Ensembles and versions.

    def update(self, traffic: Iterable[Traffic]) -> None:
        """Replace the known ensembles; requests in flight keep the snapshot they were admitted with."""
        self.ensembles.replace(traffic)
        snapshots = self.ensembles.snapshots()
        self._links.update(snapshots)
        versions = {(snapshot.ensemble_id, snapshot.version) for snapshot in snapshots}
        for key in [k for k, c in self.counts.ensembles.items() if k not in versions and not c.in_flight]:
            del self.counts.ensembles[key]

    def health(self) -> dict[int, LinkHealth]:
        """The state and latency of each replica, by its id."""
        return self._links.health()

    def latencies(self) -> dict[int, LatencyWindow]:
        """The latencies of the last replies of each replica, by its id."""
        return self._links.latencies()

    @property
    def links(self) -> ReplicaLinks:
        """The links to all replicas."""
        return self._links

    @property
    def in_flight(self) -> int:
        """Number of admitted requests that have no outcome yet."""
        return len(self._in_flight)

    @property
    def in_flight_bytes(self) -> int:
        """Bytes of input in the admitted requests that have no outcome yet."""
        return self._in_flight_bytes

    def _can_serve(self, snapshot: Snapshot) -> bool:
        return not is_warming(snapshot) and self._links.can_reach_quorum(snapshot)

    # A request, from its admission to its outcome.

    def predict(
        self,
        snapshot: Snapshot,
        inputs: NDArray[np.float32],
        deadline_ms: float | None = None,
        arrived_s: float | None = None,
    ) -> asyncio.Future[Prediction]:
        """Send `inputs` (rows, features) to every member; the future completes by the deadline.

        `arrived_s` is the monotonic time from which the deadline counts; None: now.

        The calls are sent immediately, not when the future is first awaited: by then the replicas in `snapshot` may
        have been replaced. Failures of members never raise. Canceling the future releases all its resources.
        """
        answer: asyncio.Future[Prediction] = asyncio.get_running_loop().create_future()

        def on_done(prediction: Prediction) -> None:
            if not answer.done():  # a disconnected client cancels the future one step before the callback runs
                answer.set_result(prediction)

        pending = self.admit(snapshot, inputs, deadline_ms=deadline_ms, on_done=on_done, arrived_s=arrived_s)
        answer.add_done_callback(lambda _: self.cancel(pending))
        return answer

    def admit(
        self,
        snapshot: Snapshot,
        inputs: NDArray[np.float32],
        deadline_ms: float | None,
        on_done: OnDone,
        arrived_s: float | None = None,
    ) -> PendingRequest:
        """Admit a request and queue it for the members, or shed it; `on_done` is called once with the outcome.

        What one turn of the event loop admits is sent by `flush`, in one message to each replica.
        """
        deadline_ms = min(deadline_ms or snapshot.deadline_ms, snapshot.deadline_ms)
        pending = PendingRequest(
            request_id=next(self._request_ids),
            snapshot=snapshot,
            inputs=inputs,
            deadline_ms=deadline_ms,
            arrived_s=self._timer.now_s() if arrived_s is None else arrived_s,
            reserve_s=self._expiry_reserve.before_deadline_s(deadline_ms / 1000),
            on_done=on_done,
        )
        self._track(pending)
        self.inputs.observe(snapshot.ensemble_id, inputs, pending.arrived_s)
        calls = [MemberCall(positions, replicas) for positions, replicas in workers_of(snapshot)]
        if self._is_full():
            self._complete(pending, Outcome.SHED)
            return pending
        if pending.expires_s <= self._timer.now_s():  # it was read too slowly: no member can answer in time
            pending.calls = calls
            self._expire(pending)
            self._join_answered()
            return pending
        available = [self._links.available(call.replicas) for call in calls]
        if self._should_shed(pending, calls, available):
            self._complete(pending, Outcome.SHED)
            return pending
        pending.calls = calls
        for call, links in zip(calls, available, strict=True):
            self._call(pending, call, links)
        self._note_if_answered(pending)
        self._join_answered()
        if not pending.completed:
            left_s = pending.expires_s - self._timer.now_s()
            pending.timers.append(self._timer.call_later(left_s, lambda: self.expire(pending)))
        return pending

    def expire(self, pending: PendingRequest) -> None:
        """The response must leave now to arrive by the deadline: members that have not answered are late.

        Other requests that expire by then do so in the same pass, and are joined and answered together: one at a time,
        each would wait for the answers to those before it, and for the next requests of their clients.
        """
        if pending.completed:
            return
        now_s = self._timer.now_s()
        self._expire(pending)
        for other in [each for each in self._in_flight.values() if each.expires_s <= now_s]:
            if other is not pending:
                self._expire(other)
        self._join_answered()
        self._expiry_reserve.record(self._timer.now_s() - pending.expires_s)

    def _expire(self, pending: PendingRequest) -> None:
        self._links.record_late(pending)
        for call in [call for call in pending.calls if call.status is None]:
            for link in call.links:
                link.abandon(pending.request_id, MemberStatus.LATE)
            call.links.clear()
            call.complete(MemberStatus.LATE, f"no answer within {pending.deadline_ms:g} ms")
        self._note_if_answered(pending)

    def flush(self) -> None:
        """Send the queued requests; called by the timer at the end of the turn that queued them."""
        shared = SharedMessages(self._timer.now_s())
        while self._to_flush:  # a request that cannot be sent may be queued for another replica
            link = next(iter(self._to_flush))
            del self._to_flush[link]
            link.flush(shared)
        self._join_answered()

    def cancel(self, pending: PendingRequest) -> None:
        """The client has disconnected: drop the request. Does nothing once it is complete."""
        if not pending.completed:
            pending.abandon_calls()
            self._complete(pending, Outcome.CANCELLED)

    def close(self) -> None:
        """Close all links; requests in flight complete as if all members had died."""
        self._links.close()
        self._transport.close()

    def _track(self, pending: PendingRequest) -> None:
        counts = self.counts.ensemble(pending.snapshot.ensemble_id, pending.snapshot.version)
        counts.admitted += 1
        counts.in_flight += 1
        self._in_flight[pending.request_id] = pending
        self._in_flight_bytes += pending.inputs.nbytes

    def _is_full(self) -> bool:
        """Whether a limit on all requests in flight is exceeded."""
        return len(self._in_flight) > self._limits.requests or self._in_flight_bytes > self._limits.request_bytes

    def _should_shed(
        self, pending: PendingRequest, calls: Sequence[MemberCall], available: Sequence[Sequence[ReplicaLink]]
    ) -> bool:
        """Whether the members' queues are too long for a quorum by the deadline.

        `available` are the links that can take each of the calls.
        """
        able = slow = 0
        left_s = pending.due_s - self._timer.now_s()
        for call, links in zip(calls, available, strict=True):
            if links and min([link.wait_s() for link in links]) <= left_s:
                able += len(call.positions)
            elif links:
                slow += len(call.positions)
        return able < pending.snapshot.quorum <= able + slow

    def _call(self, pending: PendingRequest, call: MemberCall, available: Sequence[ReplicaLink]) -> None:
        """Send to the least busy replica; if none is available, complete the call with the reason."""
        link = _least_busy(available)
        if link is None:
            call.complete(*self._links.unavailable_status(call.replicas, pending.snapshot))
            return
        self._queue(pending, call, link)
        if len(available) > 1 and link.p95_ms is not None:
            pending.timers.append(self._timer.call_later(link.p95_ms / 1000, lambda: self._hedge(pending, call)))

    def _queue(self, pending: PendingRequest, call: MemberCall, link: ReplicaLink, *, is_hedge: bool = False) -> None:
        call.tried.add(link.replica_id)
        call.links.append(link)
        if is_hedge:
            link.counts.hedges += 1

        def on_unsent(status: MemberStatus, message: str) -> None:
            self._hedge_credit -= self._limits.hedge_share
            if is_hedge:
                link.counts.hedges -= 1
                self._hedge_credit += 1
            self._on_unsent(pending, call, link=link, status=status, message=message)

        link.queue(
            QueuedSend(
                pending.request_id,
                pending.inputs,
                pending.due_s,
                lambda answer: self._on_reply(pending, call, link, answer),
                on_unsent,
            )
        )
        self._hedge_credit = min(self._hedge_credit + self._limits.hedge_share, _MAX_HEDGE_CREDIT)
        if not self._to_flush:
            self._timer.call_soon(self.flush)
        self._to_flush[link] = None

    def _hedge(self, pending: PendingRequest, call: MemberCall) -> None:
        """The replica is slower than its p95: send to another one too, within the allowed share of hedges."""
        if pending.completed or call.status is not None or self._hedge_credit < 1:
            return
        if self._call_another(pending, call, is_hedge=True):
            self._hedge_credit -= 1

    def _call_another(self, pending: PendingRequest, call: MemberCall, *, is_hedge: bool = False) -> bool:
        """Queue for a replica that was not tried yet. Returns False if there is none."""
        others = [link for link in self._links.available(call.replicas) if link.replica_id not in call.tried]
        link = _least_busy(others)
        if link is None:
            return False
        self._queue(pending, call, link, is_hedge=is_hedge)
        return True

    def _on_unsent(
        self, pending: PendingRequest, call: MemberCall, link: ReplicaLink, status: MemberStatus, message: str
    ) -> None:
        """The request was not sent to this replica: try another one, unless one is processing the call."""
        call.links.remove(link)
        link.counts.skipped += 1
        if not call.links and not self._call_another(pending, call):
            call.complete(*(call.last_failure or (status, message)))
            self._note_if_answered(pending)

    def _on_reply(self, pending: PendingRequest, call: MemberCall, link: ReplicaLink, answer: LinkReply) -> None:
        """Handle the reply of one replica; the first valid one completes the call."""
        call.links.remove(link)
        answer = _checked(answer, pending, call)
        link.counts.record(answer.status)
        if answer.status is MemberStatus.OK:
            link.breaker.record_success()
        elif self._await_another(pending, call, link, answer):
            call.last_failure = answer.status, answer.message
            return
        for other in call.links:
            other.abandon(pending.request_id, None)
        call.links.clear()
        call.complete(answer.status, answer.message, answer.reply if answer.status is MemberStatus.OK else None)
        self._note_if_answered(pending)

    def _await_another(self, pending: PendingRequest, call: MemberCall, link: ReplicaLink, answer: LinkReply) -> bool:
        """Whether another replica still processes the call: a hedge, or one that replaces a replica that died."""
        if answer.status in (MemberStatus.ERROR, MemberStatus.INVALID):
            call.failures.append((link, answer.message))
        if call.links:
            return True
        retry = answer.status in (MemberStatus.DIED, MemberStatus.REFUSED)
        return retry and self._call_another(pending, call)

    def _note_if_answered(self, pending: PendingRequest) -> None:
        if pending.completed:
            return
        for call in pending.calls:
            if call.status is None:
                return
        self._answered.append(pending)

    def _join_answered(self) -> None:
        """Complete the requests whose calls are complete; those that one message answered are combined together."""
        while self._answered:
            answered = [pending for pending in self._answered if not pending.completed]
            self._answered.clear()
            for pending in answered:
                self._links.record_errors(pending)
            for pending, prediction in zip(answered, self._joined(answered), strict=True):
                if not pending.completed:
                    self._complete(pending, prediction.outcome, prediction)

    def _joined(self, answered: Sequence[PendingRequest]) -> list[Prediction]:
        """The prediction for each request; one whose replies cannot be combined does not affect the others."""
        now_s = self._timer.now_s()
        try:
            return join(answered, now_s)
        except Exception:
            if len(answered) > 1:
                return [prediction for pending in answered for prediction in self._joined([pending])]
            log.exception("the replies of the members could not be combined")
            (pending,) = answered
            return [_without_reports(pending, Outcome.BELOW_QUORUM, (now_s - pending.arrived_s) * 1000)]

    def _complete(self, pending: PendingRequest, outcome: Outcome, prediction: Prediction | None = None) -> None:
        """Record the outcome of a request, exactly once."""
        assert not pending.completed
        pending.completed = True
        for timer in pending.timers:
            timer.cancel()
        total_ms = prediction.total_ms if prediction else (self._timer.now_s() - pending.arrived_s) * 1000
        del self._in_flight[pending.request_id]
        self._in_flight_bytes -= pending.inputs.nbytes
        counts = self.counts.ensemble(pending.snapshot.ensemble_id, pending.snapshot.version)
        counts.in_flight -= 1
        counts.outcomes[outcome] += 1
        counts.total_ms.observe(total_ms)
        if outcome is Outcome.CANCELLED:
            return
        try:
            pending.on_done(prediction or _without_reports(pending, outcome, total_ms))
        except Exception:  # the requests that are joined with it must be answered
            log.exception("the outcome of a prediction could not be delivered")


def _least_busy(links: Sequence[ReplicaLink]) -> ReplicaLink | None:
    if len(links) == 1:  # most members have one replica
        return links[0]
    return min(links, key=lambda each: each.in_flight, default=None)


def _checked(answer: LinkReply, pending: PendingRequest, call: MemberCall) -> LinkReply:
    """The same, with another status if the reply's arrays are invalid."""
    if answer.reply is None or answer.status is not MemberStatus.OK:
        return answer
    status, message = check_reply(
        answer.reply, members=len(call.positions), rows=len(pending.inputs), outputs=pending.snapshot.outputs
    )
    return answer if status is MemberStatus.OK else LinkReply(answer.reply, status, message)


def _without_reports(pending: PendingRequest, outcome: Outcome, total_ms: float) -> Prediction:
    return Prediction(
        outcome=outcome,
        snapshot=pending.snapshot,
        reports=(),
        deadline_ms=pending.deadline_ms,
        total_ms=total_ms,
    )
