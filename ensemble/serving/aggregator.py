"""The between-graph aggregator: copies each request to every member, and answers by the deadline whatever they do.

In the gateway process, in its event loop, which it never blocks. In-graph ensembles go the same way, with one worker
that answers for all members. What it knows of time and of sockets comes through the ports of `transport`, so that a
test can be both.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import secrets
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.protocol.wire import Reply, Request
from podium.ensemble.serving.aggregator_counts import Counts
from podium.ensemble.serving.pending_request import Ask, Done, Ticket, workers_of
from podium.ensemble.serving.replica_link import Link, LinkHealth
from podium.ensemble.serving.replica_links import Links, is_warming
from podium.ensemble.serving.reply_join import join, verdict
from podium.ensemble.serving.transport import LoopTimer, Timer, Transport, ZmqTransport
from podium.ensemble.values.ensemble_spec import Snapshot, Traffic
from podium.ensemble.values.prediction import MemberStatus, Outcome, Prediction
from podium.sweep.values.errors import NotFoundError

MAX_IN_FLIGHT = 1024
MAX_IN_FLIGHT_BYTES = 512 << 20
HEDGE_SHARE = 0.05  # of what is sent
_MAX_HEDGES_SAVED = 10.0


class Aggregator:
    """See the module. It guarantees what `docs/ensembles.md` lists; each guarantee has a test of its name."""

    def __init__(
        self, transport: Transport | None = None, timer: Timer | None = None, on_death: Callable[[], None] | None = None
    ) -> None:
        self.counts = Counts()
        self._transport = transport or ZmqTransport()
        self._timer = timer or LoopTimer()
        # Ids of another life of this process must not match: start where no other did.
        self._ids = itertools.count(secrets.randbits(48) << 14)
        self._links = Links(self._transport, self._timer, self.counts, self._ids, on_death or (lambda: None))
        self._traffic: dict[int, Traffic] = {}
        self._in_flight = 0
        self._in_flight_bytes = 0
        self._hedges_saved = 0.0
        self._random = random.Random(secrets.randbits(64))  # noqa: S311 - which request a canary gets is no secret

    # What there is to ask.

    def update(self, traffic: Iterable[Traffic]) -> None:
        """What the ensembles are from now on; requests under way keep what they were admitted with."""
        self._traffic = {item.ensemble_id: item for item in traffic}
        snapshots = [s for item in self._traffic.values() for s in (item.active, item.canary) if s is not None]
        self._links.update(snapshots)
        versions = {(snapshot.ensemble_id, snapshot.version) for snapshot in snapshots}
        for key in [k for k, c in self.counts.ensembles.items() if k not in versions and not c.in_flight]:
            del self.counts.ensembles[key]

    def traffic(self) -> list[Traffic]:
        """Every ensemble that is to be up."""
        return list(self._traffic.values())

    def traffic_of(self, ensemble_id: int) -> Traffic | None:
        """One of them."""
        return self._traffic.get(ensemble_id)

    def choose(self, traffic: Traffic, version: int | None) -> Snapshot:
        """The version that answers this request: the one asked for, or the active one, or by its share the canary.

        Raises `NotFoundError` when the version asked for does not answer.
        """
        if version is None:
            return self._pick(traffic)
        for snapshot in (traffic.active, traffic.canary):
            if snapshot is not None and snapshot.version == version:
                return snapshot
        raise NotFoundError(f"version {version} of ensemble {traffic.name!r} does not answer now")

    def named(self, name: str, version: int | None) -> Snapshot:
        """An ensemble by name or id, and a version of it where one is asked for. Raises `NotFoundError`."""
        traffic = self.find(name)
        if traffic is None:
            raise NotFoundError(f"no ensemble {name!r} answers now")
        return self.choose(traffic, version)

    def find(self, name: str) -> Traffic | None:
        """The ensemble of this name, or of this id where no name is so. Names are unique, and never digits alone."""
        known = self._traffic.values()
        named = next((item for item in known if item.name == name), None)
        return named or next((item for item in known if str(item.ensemble_id) == name), None)

    def health(self) -> dict[int, LinkHealth]:
        """How each replica does, by its id."""
        return self._links.health()

    def _pick(self, traffic: Traffic) -> Snapshot:
        if traffic.canary is None or is_warming(traffic.canary) or not self._links.may_answer(traffic.canary):
            return traffic.active
        return traffic.canary if self._random.random() < traffic.canary_share else traffic.active

    # A request, from its admission to its outcome.

    def predict(
        self, snapshot: Snapshot, inputs: NDArray[np.float32], deadline_ms: float | None = None
    ) -> asyncio.Future[Prediction]:
        """Ask every member, wait until all have answered or the deadline is there, and combine what came.

        `inputs` is (rows, features). They are asked now, and not when somebody first waits: by then the members of
        `snapshot` may be gone. Never raises for what members do; cancelling it frees everything.
        """
        answer: asyncio.Future[Prediction] = asyncio.get_running_loop().create_future()

        def done(prediction: Prediction) -> None:
            if not answer.done():  # a client that leaves cancels this a step before we are told
                answer.set_result(prediction)

        ticket = self.admit(snapshot, inputs, deadline_ms, done)
        answer.add_done_callback(lambda _: self.cancel(ticket))
        return answer

    def admit(self, snapshot: Snapshot, inputs: NDArray[np.float32], deadline_ms: float | None, done: Done) -> Ticket:
        """Take a request in, or shed it, and send it to the members; `done` hears the one outcome."""
        deadline_ms = min(deadline_ms or snapshot.deadline_ms, snapshot.deadline_ms)
        ticket = Ticket(next(self._ids), snapshot, inputs, deadline_ms, self._timer.now_s(), done)
        self._begin(ticket)
        if self._must_shed(ticket):
            self._end(ticket, Outcome.SHED)
            return ticket
        ticket.asks = [Ask(positions, replicas) for positions, replicas in workers_of(snapshot)]
        for ask in ticket.asks:
            self._ask(ticket, ask)
        if not self._end_if_answered(ticket):
            left_s = ticket.due_s - self._timer.now_s()
            ticket.timers.append(self._timer.call_later(left_s, lambda: self.expire(ticket)))
        return ticket

    def expire(self, ticket: Ticket) -> None:
        """The deadline is there: who has not answered is late."""
        if ticket.over:
            return
        self._links.blame_late(ticket)
        for ask in [ask for ask in ticket.asks if ask.status is None]:
            for link in ask.links:
                link.forget(ticket.request_id, MemberStatus.LATE)
            ask.links.clear()
            ask.resolve(MemberStatus.LATE, f"no answer within {ticket.deadline_ms:g} ms")
        self._end_if_answered(ticket)

    def cancel(self, ticket: Ticket) -> None:
        """The client has left: nothing of the request stays. Without effect when it is over."""
        if not ticket.over:
            ticket.withdraw()
            self._end(ticket, Outcome.CANCELLED)

    def close(self) -> None:
        """Drop every link; what is under way ends as if all members had died."""
        self._links.close()
        self._transport.close()

    def _begin(self, ticket: Ticket) -> None:
        counts = self.counts.ensemble(ticket.snapshot.ensemble_id, ticket.snapshot.version)
        counts.admitted += 1
        counts.in_flight += 1
        self._in_flight += 1
        self._in_flight_bytes += ticket.inputs.nbytes

    def _must_shed(self, ticket: Ticket) -> bool:
        """Too many are under way, or so many wait at the members that a quorum cannot make it."""
        if self._in_flight > MAX_IN_FLIGHT or self._in_flight_bytes > MAX_IN_FLIGHT_BYTES:
            return True
        able = slow = 0
        for positions, replicas in workers_of(ticket.snapshot):
            waits = [link.wait_s() for link in self._links.askable(replicas)]
            if waits and min(waits) <= ticket.deadline_ms / 1000:
                able += len(positions)
            elif waits:
                slow += len(positions)
        return able < ticket.snapshot.quorum <= able + slow

    def _ask(self, ticket: Ticket, ask: Ask) -> None:
        """Send to the least busy replica; if there is none to send to, that is the answer."""
        able = self._links.askable(ask.replicas)
        link = min(able, key=lambda each: each.owed, default=None)
        if link is None:
            ask.resolve(*self._links.why_not(ask.replicas, ticket.snapshot))
        elif not self._send(ticket, ask, link) and self._send_to_another(ticket, ask) is None:
            ask.resolve(MemberStatus.QUEUE_FULL, "its connection takes no more")
        elif len(able) > 1 and link.p95_ms is not None:
            ticket.timers.append(self._timer.call_later(link.p95_ms / 1000, lambda: self._hedge(ticket, ask)))

    def _send(self, ticket: Ticket, ask: Ask, link: Link) -> bool:
        ask.tried.add(link.replica_id)
        left_ms = (ticket.due_s - self._timer.now_s()) * 1000
        request = Request(ticket.request_id, link.epoch, left_ms, ticket.inputs)
        if not link.send(request, lambda reply, status, why: self._hear(ticket, ask, link, reply, status, why)):
            link.counts.skipped += 1
            return False
        ask.links.append(link)
        self._hedges_saved = min(self._hedges_saved + HEDGE_SHARE, _MAX_HEDGES_SAVED)
        return True

    def _hedge(self, ticket: Ticket, ask: Ask) -> None:
        """The replica is slower than usual: ask another one too, if the share of hedges allows it."""
        if ticket.over or ask.status is not None or self._hedges_saved < 1:
            return
        if (link := self._send_to_another(ticket, ask)) is not None:
            self._hedges_saved -= 1
            link.counts.hedges += 1

    def _send_to_another(self, ticket: Ticket, ask: Ask) -> Link | None:
        """Ask a replica that was not asked yet, if there is one."""
        others = [link for link in self._links.askable(ask.replicas) if link.replica_id not in ask.tried]
        link = min(others, key=lambda each: each.owed, default=None)
        return link if link is not None and self._send(ticket, ask, link) else None

    def _hear(
        self, ticket: Ticket, ask: Ask, link: Link, reply: Reply | None, status: MemberStatus, message: str
    ) -> None:
        """What one replica made of it; the first sound answer counts."""
        ask.links.remove(link)
        if reply is not None and status is MemberStatus.OK:
            status, message = verdict(reply, len(ask.positions), len(ticket.inputs), ticket.snapshot.outputs)
        link.counts.ended(status)
        if status is MemberStatus.OK:
            link.breaker.succeeded()
        elif self._may_still_answer(ticket, ask, link, status, message):
            return
        for other in ask.links:
            other.forget(ticket.request_id, None)
        ask.links.clear()
        ask.resolve(status, message, reply if status is MemberStatus.OK else None)
        self._end_if_answered(ticket)

    def _may_still_answer(self, ticket: Ticket, ask: Ask, link: Link, status: MemberStatus, message: str) -> bool:
        """Whether another replica is on it: a hedge, or one that takes over from a replica that died."""
        if status in (MemberStatus.ERROR, MemberStatus.INVALID):
            ask.faults.append((link, message))
        if ask.links:
            return True
        taken_over = status in (MemberStatus.DIED, MemberStatus.REFUSED)
        return taken_over and self._send_to_another(ticket, ask) is not None

    def _end_if_answered(self, ticket: Ticket) -> bool:
        if not ticket.over and all(ask.status is not None for ask in ticket.asks):
            self._links.blame_errors(ticket)
            prediction = join(ticket, (self._timer.now_s() - ticket.admitted_s) * 1000)
            self._end(ticket, prediction.outcome, prediction)
        return ticket.over

    def _end(self, ticket: Ticket, outcome: Outcome, prediction: Prediction | None = None) -> None:
        """The one outcome of a request."""
        assert not ticket.over
        ticket.over = True
        for timer in ticket.timers:
            timer.cancel()
        total_ms = (self._timer.now_s() - ticket.admitted_s) * 1000
        self._in_flight -= 1
        self._in_flight_bytes -= ticket.inputs.nbytes
        counts = self.counts.ensemble(ticket.snapshot.ensemble_id, ticket.snapshot.version)
        counts.in_flight -= 1
        counts.outcomes[outcome] += 1
        counts.total_ms.observe(total_ms)
        if outcome is not Outcome.CANCELLED:
            ticket.done(prediction or Prediction(outcome, ticket.snapshot, (), ticket.deadline_ms, total_ms))
