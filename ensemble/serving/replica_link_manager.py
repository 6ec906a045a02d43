"""The gateway's links to all replicas: opened, closed and probed as replicas come and go; gateway process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from podium.ensemble.protocol.prediction_messages import Reply, Request
from podium.ensemble.serving.aggregator_counts import AggregatorCounts
from podium.ensemble.serving.aggregator_limits import AggregatorLimits
from podium.ensemble.serving.pending_request import PendingRequest
from podium.ensemble.serving.prediction_from_replies import check_reply
from podium.ensemble.serving.replica_latency import LatencyWindow
from podium.ensemble.serving.replica_link import LinkHealth, LinkReply, ReplicaLink, probe_rows
from podium.ensemble.serving.replica_sets import workers_of
from podium.ensemble.serving.unix_socket_transport import Timer, Transport
from podium.ensemble.values.ensemble_snapshot import Replica, Snapshot
from podium.ensemble.values.ensemble_states import MemberState
from podium.ensemble.values.prediction import MemberStatus

SLOW_FACTOR = 10  # a longer wait, in multiples of the replica's own p95, is a failure whatever the client's deadline
MIN_SLOW_MS = 250.0  # shorter waits are never failures: either process may have been without a core for that long
_TIMER_TOLERANCE = 0.9  # share of such a wait: timers also fire slightly early
MAX_LOOP_DELAY_S = 0.05


class ReplicaLinks:
    """One link for each replica that is up; links of removed versions drain before they close."""

    def __init__(
        self,
        transport: Transport,
        timer: Timer,
        *,
        counts: AggregatorCounts,
        request_ids: Iterator[int],
        limits: AggregatorLimits,
        on_death: Callable[[], None],
        on_replies: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._timer = timer
        self._counts = counts
        self._request_ids = request_ids
        self._limits = limits
        self._on_death = on_death
        self._on_replies = on_replies
        self._links: dict[int, ReplicaLink] = {}
        self._draining: list[ReplicaLink] = []

    @property
    def by_replica(self) -> Mapping[int, ReplicaLink]:
        """The links in use, by replica id; those that drain are not included."""
        return self._links

    @property
    def draining(self) -> int:
        """Number of links to removed versions that still have pending requests."""
        return len(self._draining)

    def update(self, snapshots: Iterable[Snapshot]) -> None:
        """Open links to the replicas in `snapshots` that are up, and close or drain all others."""
        found = {
            replica.replica_id: (replica, snapshot)
            for snapshot in snapshots
            for _, replicas in workers_of(snapshot)
            for replica in replicas
        }
        for replica_id, link in list(self._links.items()):
            replica = found[replica_id][0] if replica_id in found else None
            if replica is None or not is_up(replica) or replica.epoch != link.epoch:
                self._drop(link, drain=replica is None)
        for replica, snapshot in found.values():
            if is_up(replica):
                self._probe_if_due(self._open(replica), snapshot)
        for link in [link for link in self._draining if link.idle]:
            self._draining.remove(link)
            link.close()
        self._forget_counts(found.keys())

    def available(self, replicas: Iterable[Replica]) -> list[ReplicaLink]:
        """The links to these replicas that can take a request now."""
        links = (self._links.get(replica.replica_id) for replica in replicas)
        return [link for link in links if link is not None and link.unavailable_reason() is None]

    def unavailable_status(self, replicas: tuple[Replica, ...], snapshot: Snapshot) -> tuple[MemberStatus, str]:
        """Why none of these replicas can take a request; probes one whose circuit breaker is open."""
        for replica in replicas:
            link = self._links.get(replica.replica_id)
            unavailable_reason = None if link is None else link.unavailable_reason()
            if link is not None and unavailable_reason is not None:
                link.counts.skipped += 1
                self._probe_if_due(link, snapshot)
                return unavailable_reason
        first = replicas[0]
        return MemberStatus.UNAVAILABLE, f"{first.state.value}: {first.reason}" if first.reason else first.state.value

    def can_reach_quorum(self, snapshot: Snapshot) -> bool:
        """Whether enough members for a quorum can take a request now."""
        able = (len(positions) for positions, replicas in workers_of(snapshot) if self.available(replicas))
        return sum(able) >= snapshot.quorum

    def health(self) -> dict[int, LinkHealth]:
        """The state and latency of each replica, by its id."""
        return {replica_id: link.health() for replica_id, link in self._links.items()}

    def latencies(self) -> dict[int, LatencyWindow]:
        """The latencies of the last replies of each replica, by its id."""
        return {replica_id: link.latencies for replica_id, link in self._links.items()}

    def close(self) -> None:
        """Close all links; pending calls complete with status `died`."""
        links = [*self._links.values(), *self._draining]
        self._links.clear()  # first, so that no call is retried on another replica
        self._draining.clear()
        for link in links:
            link.close()

    # Failures and probes.

    def record_late(self, pending: PendingRequest) -> None:
        """Record a failure for each replica that is late by its own measure.

        A client with a very short deadline must not open circuit breakers, so the wait is compared with the replica's
        own p95. A replica that has sent no reply at all for that long fails too, even if each request is recent.
        """
        if self._timer.now_s() - pending.due_s > MAX_LOOP_DELAY_S:
            return  # this process was delayed: replies may be unread
        own_ms = pending.snapshot.deadline_ms
        for link in [link for call in pending.calls if call.status is None for link in call.links]:
            link.reply_is_late()
            slow_ms = own_ms if link.p95_ms is None else min(own_ms, max(SLOW_FACTOR * link.p95_ms, MIN_SLOW_MS))
            waited_ms = max(link.waited_ms(pending.request_id), link.unresponsive_ms())
            if waited_ms >= _TIMER_TOLERANCE * slow_ms:
                link.breaker.record_failure(f"late: no answer for {waited_ms:.0f} ms", self._timer.now_s())

    def record_errors(self, pending: PendingRequest) -> None:
        """Record errors as failures if another member answered; otherwise the input is assumed to be the cause."""
        if any(call.status is MemberStatus.OK for call in pending.calls):
            for link, message in [failure for call in pending.calls for failure in call.failures]:
                link.breaker.record_failure(message, self._timer.now_s())

    def _probe_if_due(self, link: ReplicaLink, snapshot: Snapshot) -> None:
        """Send one row of zeros to a replica whose circuit breaker is open."""
        if link.down or not link.breaker.probe_due(self._timer.now_s()):
            return
        request = Request(next(self._request_ids), link.epoch, snapshot.deadline_ms, probe_rows(snapshot.features))
        link.breaker.probe_sent()
        deadline = self._timer.call_later(snapshot.deadline_ms / 1000, lambda: link.expire_probe(request.request_id))

        def on_reply(answer: LinkReply) -> None:
            deadline.cancel()
            valid = answer.reply is not None and answer.status is MemberStatus.OK and _is_valid(answer.reply, snapshot)
            link.breaker.probe_ended(valid, self._timer.now_s())

        if not link.probe(request, on_reply):
            on_reply(LinkReply(None, MemberStatus.QUEUE_FULL))

    def _open(self, replica: Replica) -> ReplicaLink:
        link = self._links.get(replica.replica_id)
        if link is None:
            link = self._links[replica.replica_id] = ReplicaLink(
                replica,
                self._transport,
                self._timer,
                counts=self._counts,
                limits=self._limits,
                on_death=self._on_death,
                on_replies=self._on_replies,
            )
        return link

    def _drop(self, link: ReplicaLink, *, drain: bool) -> None:
        """Close the link, or with `drain` let its pending requests complete first."""
        del self._links[link.replica_id]
        if drain and not link.idle:
            self._draining.append(link)
        else:
            link.close()

    def _forget_counts(self, replica_ids: Iterable[int]) -> None:
        """Delete the counters of removed replicas that have nothing pending."""
        keep = set(replica_ids) | {link.replica_id for link in self._draining}
        for replica_id in [r for r, counts in self._counts.members.items() if r not in keep and not counts.pending]:
            del self._counts.members[replica_id]


def _is_valid(reply: Reply, snapshot: Snapshot) -> bool:
    """Whether a probe's reply would count for a request."""
    positions, _ = workers_of(snapshot)[0]
    return check_reply(reply, members=len(positions), rows=1, outputs=snapshot.outputs)[0] is MemberStatus.OK


def is_up(replica: Replica) -> bool:
    """Whether the host reports the replica as ready."""
    return replica.state is MemberState.READY and replica.endpoint is not None


def can_answer(snapshot: Snapshot) -> bool:
    """Whether the host reports enough members as ready for a quorum."""
    return sum(any(map(is_up, member.replicas)) for member in snapshot.members) >= snapshot.quorum


def is_warming(snapshot: Snapshot) -> bool:
    """Whether any replica is starting or warming."""
    states = {replica.state for member in snapshot.members for replica in member.replicas}
    return not states.isdisjoint({MemberState.STARTING, MemberState.WARMING})
