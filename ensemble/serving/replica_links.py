"""The links to all replicas: opened and closed as the host says, skipped while open, probed back; gateway."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from podium.ensemble.protocol.wire import Reply, Request
from podium.ensemble.serving.aggregator_counts import Counts
from podium.ensemble.serving.pending_request import Ticket, workers_of
from podium.ensemble.serving.replica_link import Link, LinkHealth, probe_rows
from podium.ensemble.serving.reply_join import verdict
from podium.ensemble.serving.transport import Timer, Transport
from podium.ensemble.values.ensemble_spec import MemberState, Replica, Snapshot
from podium.ensemble.values.prediction import MemberStatus

SLOW_FACTOR = 10  # a wait of so many times its own p95 counts against a member, whatever the client's deadline was
SLOW_FROM_MS = 250.0  # but not a shorter one: a process may not get a core for so long, ours or its own
_ENOUGH = 0.9  # of such a wait: timers ring a little early too
OVERSLEPT_S = 0.05


class Links:
    """One link for each replica that is up, by replica id; those of versions that are gone drain."""

    def __init__(
        self,
        transport: Transport,
        timer: Timer,
        counts: Counts,
        ids: Iterator[int],
        on_death: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._timer = timer
        self._counts = counts
        self._ids = ids
        self._on_death = on_death
        self._links: dict[int, Link] = {}
        self._draining: list[Link] = []

    def update(self, snapshots: Iterable[Snapshot]) -> None:
        """What is up from now on."""
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

    def askable(self, replicas: Iterable[Replica]) -> list[Link]:
        """The links that can be asked now."""
        links = (self._links.get(replica.replica_id) for replica in replicas)
        return [link for link in links if link is not None and link.refusal() is None]

    def why_not(self, replicas: tuple[Replica, ...], snapshot: Snapshot) -> tuple[MemberStatus, str]:
        """Why none of these can be asked; one that is open may get a probe."""
        for replica in replicas:
            link = self._links.get(replica.replica_id)
            refusal = None if link is None else link.refusal()
            if link is not None and refusal is not None:
                link.counts.skipped += 1
                self._probe_if_due(link, snapshot)
                return refusal
        first = replicas[0]
        return MemberStatus.UNAVAILABLE, f"{first.state.value}: {first.reason}" if first.reason else first.state.value

    def may_answer(self, snapshot: Snapshot) -> bool:
        """Whether enough members for a quorum can be asked now."""
        able = (len(positions) for positions, replicas in workers_of(snapshot) if self.askable(replicas))
        return sum(able) >= snapshot.quorum

    def health(self) -> dict[int, LinkHealth]:
        """How each replica does, by its id."""
        return {replica_id: link.health() for replica_id, link in self._links.items()}

    def close(self) -> None:
        """Close all; what is under way ends as if all members had died."""
        links = [*self._links.values(), *self._draining]
        self._links.clear()  # first: none is to take over from another
        self._draining.clear()
        for link in links:
            link.close()

    # Who is to blame, and who comes back.

    def blame_late(self, ticket: Ticket) -> None:
        """A wait counts if it was long by the member's own measure: no client with a tiny deadline opens breakers.

        If it has been silent for so long, the wait counts too: no member that stands still hides behind such clients.
        """
        if self._timer.now_s() - ticket.due_s > OVERSLEPT_S:
            return  # we stood still, and may not have heard its answer yet
        own_ms = ticket.snapshot.deadline_ms
        for link in [link for ask in ticket.asks if ask.status is None for link in ask.links]:
            slow_ms = own_ms if link.p95_ms is None else min(own_ms, max(SLOW_FACTOR * link.p95_ms, SLOW_FROM_MS))
            waited_ms = max(link.waited_ms(ticket.request_id), link.silent_ms())
            if waited_ms >= _ENOUGH * slow_ms:
                link.breaker.failed(f"late: no answer for {waited_ms:.0f} ms", self._timer.now_s())

    def blame_errors(self, ticket: Ticket) -> None:
        """An error counts if another member could answer: if none could, it was the input."""
        if any(ask.status is MemberStatus.OK for ask in ticket.asks):
            for link, message in [fault for ask in ticket.asks for fault in ask.faults]:
                link.breaker.failed(message, self._timer.now_s())

    def _probe_if_due(self, link: Link, snapshot: Snapshot) -> None:
        """Ask an open replica for a row of zeros, beside the traffic."""
        if link.down or not link.breaker.probe_due(self._timer.now_s()):
            return
        request = Request(next(self._ids), link.epoch, snapshot.deadline_ms, probe_rows(snapshot.features))
        link.breaker.probe_sent()
        deadline = self._timer.call_later(snapshot.deadline_ms / 1000, lambda: link.give_up_probe(request.request_id))

        def heard(reply: Reply | None, status: MemberStatus, message: str) -> None:
            deadline.cancel()
            sound = reply is not None and status is MemberStatus.OK and _is_sound(reply, snapshot)
            link.breaker.probe_ended(sound, self._timer.now_s())

        if not link.probe(request, heard):
            heard(None, MemberStatus.QUEUE_FULL, "")

    def _open(self, replica: Replica) -> Link:
        link = self._links.get(replica.replica_id)
        if link is None:
            assert replica.endpoint is not None
            link = self._links[replica.replica_id] = Link(
                replica.replica_id, replica.endpoint, replica.epoch, self._transport, self._timer, self._counts,
                self._on_death,
            )  # fmt: skip
        return link

    def _drop(self, link: Link, *, drain: bool) -> None:
        """Its process is gone; or its version is, and what waits for it may still come."""
        del self._links[link.replica_id]
        if drain and not link.idle:
            self._draining.append(link)
        else:
            link.close()

    def _forget_counts(self, replica_ids: Iterable[int]) -> None:
        """Counts of what is gone go too, once nothing of it is under way."""
        keep = set(replica_ids) | {link.replica_id for link in self._draining}
        for replica_id in [r for r, counts in self._counts.members.items() if r not in keep and not counts.pending]:
            del self._counts.members[replica_id]


def _is_sound(reply: Reply, snapshot: Snapshot) -> bool:
    """Whether a probe's answer would count for a request."""
    positions, _ = workers_of(snapshot)[0]
    return verdict(reply, len(positions), 1, snapshot.outputs)[0] is MemberStatus.OK


def is_up(replica: Replica) -> bool:
    """Whether it can be asked, as far as the host knows."""
    return replica.state is MemberState.READY and replica.endpoint is not None


def can_answer(snapshot: Snapshot) -> bool:
    """Whether enough of its members are up for a quorum."""
    return sum(any(map(is_up, member.replicas)) for member in snapshot.members) >= snapshot.quorum


def is_warming(snapshot: Snapshot) -> bool:
    """Whether some of its processes are on their way up."""
    states = {replica.state for member in snapshot.members for replica in member.replicas}
    return not states.isdisjoint({MemberState.STARTING, MemberState.WARMING})
