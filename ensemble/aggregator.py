"""The between-graph aggregator: copies each request to every worker, and answers by the deadline whatever they do.

In the gateway process, in its event loop. A reply counts only if worker, epoch and request id name a pending slot of
a live request; ids are never used twice, and everything else is dropped and counted. In-graph ensembles go the same
way with one worker that answers for all members: all or nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import zmq
import zmq.asyncio
from numpy.typing import NDArray

from ensemble import combine
from ensemble.spec import Member, MemberState, Mode, Snapshot
from ensemble.wire import Reply, Request, WireError

MAX_IN_FLIGHT = 1024
_SEND_QUEUE = 256


class Outcome(StrEnum):
    """What became of a request: exactly one of these."""

    OK = "ok"
    DEGRADED = "degraded"
    BELOW_QUORUM = "below_quorum"
    DEADLINE = "deadline"
    SHED = "shed"
    CANCELLED = "cancelled"


class MemberStatus(StrEnum):
    """What a member contributed to one answer."""

    OK = "ok"
    LATE = "late"
    ERROR = "error"
    INVALID = "invalid"  # wrong shape, or not finite
    EXPIRED = "expired"
    REFUSED = "refused"
    QUEUE_FULL = "queue_full"
    DIED = "died"
    UNAVAILABLE = "unavailable"  # not ready when the request came


@dataclass(slots=True)
class MemberReport:
    """One member's part in an answer."""

    member_id: int
    trial_id: int
    epoch: int
    status: MemberStatus
    queue_ms: float = 0.0
    compute_ms: float = 0.0
    message: str = ""


@dataclass(frozen=True, slots=True)
class Prediction:
    """An answer. `outputs` is None when there is none: too few members, or too late."""

    outcome: Outcome
    snapshot: Snapshot
    reports: tuple[MemberReport, ...]
    deadline_ms: float
    total_ms: float
    outputs: NDArray[np.float32] | None = None  # (rows, classes)
    member_outputs: NDArray[np.float32] | None = None  # (answered members, rows, classes)
    weights: tuple[float, ...] = ()  # of those that answered, summing to 1

    @property
    def answered(self) -> int:
        return sum(report.status is MemberStatus.OK for report in self.reports)


@dataclass(slots=True)
class _Pending:
    """A live request: whom it waits for, and what came."""

    rows: int
    classes: int
    members: Mapping[str, int]  # endpoint -> how many members answer there
    waiting: set[str]  # endpoints
    done: asyncio.Event = field(default_factory=asyncio.Event)
    replies: dict[str, Reply] = field(default_factory=dict)
    failures: dict[str, tuple[MemberStatus, str]] = field(default_factory=dict)

    def resolve(self, endpoint: str, reply: Reply | None, failure: tuple[MemberStatus, str] | None) -> None:
        self.waiting.discard(endpoint)
        if reply is not None:
            self.replies[endpoint] = reply
        if failure is not None:
            self.failures[endpoint] = failure
        if not self.waiting:
            self.done.set()


class _Link:
    """The two queues of one worker, as the gateway sees them."""

    def __init__(self, context: zmq.asyncio.Context, endpoint: str, epoch: int, dropped: Counter[str]) -> None:
        self.endpoint = endpoint
        self.epoch = epoch
        self.pending: dict[int, _Pending] = {}
        self._dropped = dropped
        self._socket = context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.SNDHWM, _SEND_QUEUE)
        self._socket.connect(endpoint)
        self._reader = asyncio.create_task(self._read())

    def send(self, request: Request, pending: _Pending) -> None:
        """Never blocks: a full queue is this worker's answer."""
        self.pending[request.request_id] = pending
        # The asyncio socket's own send: it wakes the reader, should sending swallow the signal that a reply is there.
        sent = self._socket.send_multipart(request.frames(), flags=zmq.NOBLOCK)
        assert isinstance(sent, asyncio.Future)
        if sent.exception() is not None:
            del self.pending[request.request_id]
            pending.resolve(self.endpoint, None, (MemberStatus.QUEUE_FULL, ""))

    def forget(self, request_id: int) -> None:
        """The request is over; what still comes for it is late."""
        self.pending.pop(request_id, None)

    def close(self) -> None:
        """The worker is gone: what waits for it is resolved now, not at the deadline."""
        self._reader.cancel()
        self._socket.close()
        for pending in self.pending.values():
            pending.resolve(self.endpoint, None, (MemberStatus.DIED, ""))
        self.pending.clear()

    async def _read(self) -> None:
        with contextlib.suppress(zmq.ZMQError, asyncio.CancelledError):
            while True:
                self._hear(await self._socket.recv_multipart())

    def _hear(self, frames: list[bytes]) -> None:
        try:
            reply = Reply.parse(frames)
        except WireError:
            self._dropped["garbled"] += 1
            return
        if reply.epoch != self.epoch:
            self._dropped["stale_epoch"] += 1
            return
        pending = self.pending.pop(reply.request_id, None)
        if pending is None:
            self._dropped["late_or_unknown"] += 1
            return
        pending.resolve(self.endpoint, reply, _complaint(reply, pending, pending.members[self.endpoint]))


def _complaint(reply: Reply, pending: _Pending, members: int) -> tuple[MemberStatus, str] | None:
    """Why a reply does not count, or None."""
    if reply.status != "ok":
        known = {"error": MemberStatus.ERROR, "expired": MemberStatus.EXPIRED, "refused": MemberStatus.REFUSED}
        return known.get(reply.status, MemberStatus.INVALID), reply.message
    predictions, combined = reply.predictions, reply.combined
    shape = (members, pending.rows, pending.classes)
    if predictions is None or predictions.shape != shape or (combined is not None and combined.shape != shape[1:]):
        return MemberStatus.INVALID, "wrong shape"
    if not np.isfinite(predictions).all() or (combined is not None and not np.isfinite(combined).all()):
        return MemberStatus.INVALID, "not finite"
    return None


class Aggregator:
    """Joins the members' answers; see the module."""

    def __init__(self) -> None:
        self._context = zmq.asyncio.Context()
        self._links: dict[str, _Link] = {}
        self._snapshots: dict[int, Snapshot] = {}
        # Ids of another life of this process must not match: start where no other did.
        self._ids = itertools.count(secrets.randbits(48) << 14)
        self.dropped: Counter[str] = Counter()
        self.outcomes: Counter[Outcome] = Counter()
        self.in_flight = 0

    def update(self, snapshots: Iterable[Snapshot]) -> None:
        """What the ensembles are from now on; requests under way keep what they were admitted with."""
        self._snapshots = {snapshot.ensemble_id: snapshot for snapshot in snapshots}
        wanted = {
            member.endpoint: member.epoch
            for snapshot in self._snapshots.values()
            for member in snapshot.members
            if member.state is MemberState.READY and member.endpoint is not None
        }
        for endpoint, link in list(self._links.items()):
            if wanted.get(endpoint) != link.epoch:
                link.close()
                del self._links[endpoint]
        for endpoint, epoch in wanted.items():
            if endpoint not in self._links:
                self._links[endpoint] = _Link(self._context, endpoint, epoch, self.dropped)

    def snapshot(self, ensemble_id: int) -> Snapshot | None:
        """The ensemble as it is now."""
        return self._snapshots.get(ensemble_id)

    async def predict(
        self, snapshot: Snapshot, inputs: NDArray[np.float32], deadline_ms: float | None = None
    ) -> Prediction:
        """Ask every ready member, wait until all have answered or the deadline is there, and combine what came.

        `inputs` is (rows, features). Never raises for what members do; cancelling it frees everything.
        """
        began = time.monotonic()
        deadline_ms = min(deadline_ms or snapshot.deadline_ms, snapshot.deadline_ms)
        if self.in_flight >= MAX_IN_FLIGHT:
            self.outcomes[Outcome.SHED] += 1
            return Prediction(Outcome.SHED, snapshot, (), deadline_ms, 0.0)
        self.in_flight += 1
        outcome = Outcome.CANCELLED
        request_id = next(self._ids)
        members = _members_by_endpoint(snapshot)
        links = [self._links[endpoint] for endpoint in members if endpoint in self._links]
        pending = _Pending(len(inputs), len(snapshot.classes), members, {link.endpoint for link in links})
        try:
            left_ms = deadline_ms - (time.monotonic() - began) * 1000
            for link in links:
                link.send(Request(request_id, link.epoch, left_ms, inputs), pending)
            if links:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(pending.done.wait(), deadline_ms / 1000 - (time.monotonic() - began))
            prediction = self._join(snapshot, pending, deadline_ms, began)
            outcome = prediction.outcome
            return prediction
        finally:
            for link in links:
                link.forget(request_id)
            self.in_flight -= 1
            self.outcomes[outcome] += 1

    def close(self) -> None:
        """Drop every link."""
        for link in self._links.values():
            link.close()
        self._links.clear()
        self._context.destroy(linger=0)

    def _join(self, snapshot: Snapshot, pending: _Pending, deadline_ms: float, began: float) -> Prediction:
        reports = tuple(self._report(member, pending) for member in snapshot.members)
        total_ms = (time.monotonic() - began) * 1000
        answered = [m for m, r in zip(snapshot.members, reports, strict=True) if r.status is MemberStatus.OK]
        if len(answered) < snapshot.quorum:
            late = any(report.status is MemberStatus.LATE for report in reports)
            outcome = Outcome.DEADLINE if late and not answered else Outcome.BELOW_QUORUM
            return Prediction(outcome, snapshot, reports, deadline_ms, total_ms)
        predictions, combined = _predictions(snapshot, answered, pending)
        weights = [member.weight for member in answered]
        return Prediction(
            outcome=Outcome.OK if len(answered) == len(snapshot.members) else Outcome.DEGRADED,
            snapshot=snapshot,
            reports=reports,
            deadline_ms=deadline_ms,
            total_ms=total_ms,
            outputs=combine.mean(predictions, weights) if combined is None else combined,
            member_outputs=predictions,
            weights=tuple(combine.renormalized(weights).tolist()),
        )

    def _report(self, member: Member, pending: _Pending) -> MemberReport:
        report = MemberReport(member.member_id, member.trial_id, member.epoch, MemberStatus.UNAVAILABLE)
        endpoint = member.endpoint
        if member.state is not MemberState.READY or endpoint is None:
            report.message = member.state.value
        elif endpoint in pending.failures:
            report.status, report.message = pending.failures[endpoint]
        elif endpoint in pending.replies:
            reply = pending.replies[endpoint]
            report.status, report.queue_ms, report.compute_ms = MemberStatus.OK, reply.queue_ms, reply.compute_ms
        elif endpoint in pending.waiting:
            report.status = MemberStatus.LATE
        return report


def _members_by_endpoint(snapshot: Snapshot) -> Counter[str]:
    """How many members answer at each endpoint, in member order: one, or all of them in-graph."""
    return Counter(m.endpoint for m in snapshot.members if m.state is MemberState.READY and m.endpoint is not None)


def _predictions(
    snapshot: Snapshot, answered: list[Member], pending: _Pending
) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """The answered members' predictions in member order, and their combination where the worker made it."""
    if snapshot.mode is Mode.IN_GRAPH:
        reply = pending.replies[answered[0].endpoint or ""]
        assert reply.predictions is not None
        return reply.predictions, reply.combined
    stacked = [pending.replies[member.endpoint or ""].predictions for member in answered]
    return np.concatenate([prediction for prediction in stacked if prediction is not None]), None
