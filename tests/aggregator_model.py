"""A reference model of the aggregator in plain Python: no clock, no sockets, only the limits passed to it.

It receives each event after it happened, with what was sent, and returns the expected responses.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.protocol.prediction_messages import Reply, Request
from podium.ensemble.scoring.combine import combine
from podium.ensemble.values.ensemble_snapshot import Snapshot
from podium.ensemble.values.ensemble_spec import Mode
from podium.ensemble.values.prediction import MemberStatus, Outcome
from tests.aggregator_rig import FakeConnection

_STATUS = {
    "ok": MemberStatus.OK,
    "error": MemberStatus.ERROR,
    "expired": MemberStatus.EXPIRED,
    "refused": MemberStatus.REFUSED,
}
_COUNTED_AS = {
    MemberStatus.OK: "ok",
    MemberStatus.LATE: "late",
    MemberStatus.ERROR: "error",
    MemberStatus.INVALID: "error",
    MemberStatus.DIED: "died",
}


@dataclass(eq=False)
class ModelConnection:
    """A connection, and the requests that its worker has to answer."""

    connection: FakeConnection
    replica_id: int
    epoch: int
    down: bool = False
    draining: bool = False
    owed: dict[int, Request] = field(default_factory=dict)
    answered: set[int] = field(default_factory=set)
    probe: tuple[int, float] | None = None  # its id, and its deadline
    seen: int = 0  # of what was sent

    def is_probed(self, now_s: float) -> bool:
        return self.probe is not None and self.probe[1] > now_s


@dataclass(eq=False)
class Slot:
    """The share of one request that goes to one worker."""

    positions: tuple[int, ...]
    replica_ids: tuple[int, ...]
    waiting: list[ModelConnection] = field(default_factory=list)
    tried: set[int] = field(default_factory=set)
    status: MemberStatus | None = None
    reply: Reply | None = None


@dataclass(eq=False)
class ModelRequest:
    """A request in flight."""

    request_id: int
    snapshot: Snapshot
    rows: int
    due_s: float
    slots: list[Slot]


@dataclass(frozen=True)
class Expected:
    """The response that the client must receive."""

    outcome: Outcome
    statuses: tuple[MemberStatus, ...]
    answered: tuple[int, ...]
    outputs: bytes | None


class Model:
    """Requests, connections, and the statistics of both."""

    def __init__(self) -> None:
        self.live: dict[int, ModelRequest] = {}
        self.lines: dict[int, ModelConnection] = {}  # by replica id, in the order in which they were opened
        self.drained: list[ModelConnection] = []
        self.counts: dict[int, Counter[str]] = {}  # by replica id
        self.admitted: Counter[tuple[int, int]] = Counter()  # by ensemble and version
        self.outcomes: dict[tuple[int, int], Counter[Outcome]] = {}
        self.dropped: Counter[str] = Counter()
        self.over: dict[int, Expected] = {}  # since the last check

    # Requests.

    def admit(self, request_id: int, snapshot: Snapshot, rows: int, due_s: float) -> ModelRequest:
        workers = (
            [(tuple(range(len(snapshot.members))), snapshot.members[0])]
            if snapshot.mode is Mode.IN_GRAPH
            else [((n,), member) for n, member in enumerate(snapshot.members)]
        )
        slots = [Slot(positions, tuple(r.replica_id for r in member.replicas)) for positions, member in workers]
        asked = self.live[request_id] = ModelRequest(request_id, snapshot, rows, due_s, slots)
        key = snapshot.ensemble_id, snapshot.version
        self.admitted[key] += 1
        self.outcomes.setdefault(key, Counter())
        return asked

    def in_flight(self, key: tuple[int, int]) -> int:
        return sum((a.snapshot.ensemble_id, a.snapshot.version) == key for a in self.live.values())

    def sent(self, line: ModelConnection, request: Request, asked: ModelRequest, slot: Slot) -> None:
        assert line.replica_id in slot.replica_ids
        assert line.replica_id not in slot.tried, "a replica is asked once"
        slot.tried.add(line.replica_id)
        slot.waiting.append(line)
        line.owed[request.request_id] = request
        self.counts[line.replica_id]["sent"] += 1

    def probed(self, line: ModelConnection, request: Request, until_s: float) -> None:
        line.owed[request.request_id] = request
        line.probe = request.request_id, until_s
        self.counts[line.replica_id]["probes"] += 1

    def slot_of(self, line: ModelConnection, request_id: int) -> tuple[ModelRequest, Slot] | None:
        """The slot that waits for the answer of this line."""
        asked = self.live.get(request_id)
        slots = [] if asked is None else [slot for slot in asked.slots if line in slot.waiting]
        assert len(slots) <= 1
        return (asked, slots[0]) if asked is not None and slots else None

    def pending(self, line: ModelConnection) -> list[tuple[ModelRequest, Slot]]:
        """The pending requests, in order."""
        return [found for request_id in line.owed if (found := self.slot_of(line, request_id)) is not None]

    def shed(self, asked: ModelRequest) -> None:
        self._end(asked, Outcome.SHED, Expected(Outcome.SHED, (), (), None))

    def cancel(self, asked: ModelRequest) -> None:
        for slot in asked.slots:
            self._not_needed(slot)
        self._end(asked, Outcome.CANCELLED, None)

    def expire(self, asked: ModelRequest) -> None:
        for slot in asked.slots:
            if slot.status is None:
                for line in slot.waiting:
                    self.counts[line.replica_id]["late"] += 1
                slot.waiting.clear()
                slot.status = MemberStatus.LATE
        self.end_if_complete(asked)

    def on_reply(self, line: ModelConnection, reply: Reply, now_s: float) -> tuple[ModelRequest, Slot] | None:
        """Process an answer. Returns the slot if another replica has to take over."""
        if reply.epoch != line.epoch:
            self.dropped["stale_epoch"] += 1
            return None
        if line.owed.pop(reply.request_id, None) is None:
            self.dropped["duplicate" if reply.request_id in line.answered else "unknown"] += 1
            return None
        line.answered.add(reply.request_id)
        if line.probe is not None and line.probe[0] == reply.request_id:
            self.dropped["late"] += not line.is_probed(now_s)
            line.probe = None
            return None
        found = self.slot_of(line, reply.request_id)
        if found is None:
            self.dropped["late"] += 1
            return None
        return found if self.record_reply(line, *found, reply) else None

    def record_reply(self, line: ModelConnection, asked: ModelRequest, slot: Slot, reply: Reply | None) -> bool:
        """One replica has answered or (None) died; whether another one has to take over."""
        status = MemberStatus.DIED if reply is None else expected_statuses(reply, asked, slot)
        slot.waiting.remove(line)
        self.counts[line.replica_id][_COUNTED_AS.get(status, "dropped")] += 1
        if status is not MemberStatus.OK and slot.waiting:
            return False
        slot.status, slot.reply = status, reply if status is MemberStatus.OK else None
        self._not_needed(slot)
        return status in (MemberStatus.DIED, MemberStatus.REFUSED)

    def end_if_complete(self, asked: ModelRequest) -> None:
        if asked.request_id in self.live and all(slot.status is not None for slot in asked.slots):
            expected = self._expected(asked)
            self._end(asked, expected.outcome, expected)

    def _not_needed(self, slot: Slot) -> None:
        for line in slot.waiting:
            self.counts[line.replica_id]["dropped"] += 1
        slot.waiting.clear()

    def _end(self, asked: ModelRequest, outcome: Outcome, expected: Expected | None) -> None:
        del self.live[asked.request_id]
        self.outcomes[(asked.snapshot.ensemble_id, asked.snapshot.version)][outcome] += 1
        if expected is not None:
            self.over[asked.request_id] = expected

    def _expected(self, asked: ModelRequest) -> Expected:
        statuses: list[MemberStatus] = []
        sound: dict[int, NDArray[np.float32]] = {}
        for slot in asked.slots:
            for index, position in enumerate(slot.positions):
                assert slot.status is not None
                statuses.append(slot.status if slot.reply is None else expected_status(slot.reply, index))
                if slot.reply is not None and statuses[-1] is MemberStatus.OK:
                    assert slot.reply.predictions is not None
                    sound[position] = slot.reply.predictions[index]
        answered = tuple(sound)
        if len(sound) < asked.snapshot.quorum:
            nothing_in_time = not sound and {MemberStatus.LATE, MemberStatus.EXPIRED} & set(statuses)
            outcome = Outcome.DEADLINE if nothing_in_time else Outcome.BELOW_QUORUM
            return Expected(outcome, tuple(statuses), answered, None)
        outcome = Outcome.OK if len(sound) == len(statuses) else Outcome.DEGRADED
        outputs = combine(asked.snapshot.combination, np.stack(list(sound.values())), answered)
        return Expected(outcome, tuple(statuses), answered, outputs.tobytes())

    # Connections.

    def opened(self, line: ModelConnection) -> None:
        self.lines[line.replica_id] = line
        self.counts.setdefault(line.replica_id, Counter())

    def forget(self, replica_ids: set[int], versions: set[tuple[int, int]]) -> None:
        """Remove the statistics of what is gone and has nothing in flight."""
        keep = replica_ids | {line.replica_id for line in self.drained}
        for replica_id in [r for r in self.counts if r not in keep and not self.pending_count(r)]:
            del self.counts[replica_id]
        for key in [key for key in self.admitted if key not in versions and not self.in_flight(key)]:
            del self.admitted[key], self.outcomes[key]

    def pending_count(self, replica_id: int) -> int:
        waiting = [line for asked in self.live.values() for slot in asked.slots for line in slot.waiting]
        return sum(line.replica_id == replica_id for line in waiting)


def expected_statuses(reply: Reply, asked: ModelRequest, slot: Slot) -> MemberStatus:
    """The status of a reply: OK if at least one of the worker's members counts."""
    if reply.status != "ok":
        return _STATUS.get(reply.status, MemberStatus.INVALID)
    shape = len(slot.positions), asked.rows, asked.snapshot.outputs
    if reply.predictions is None or reply.predictions.shape != shape:
        return MemberStatus.INVALID
    each = [expected_status(reply, index) for index in range(len(slot.positions))]
    return MemberStatus.OK if MemberStatus.OK in each else each[0]


def expected_status(reply: Reply, index: int) -> MemberStatus:
    assert reply.predictions is not None
    if str(index) in reply.failed:
        return MemberStatus.ERROR
    return MemberStatus.OK if np.isfinite(reply.predictions[index]).all() else MemberStatus.INVALID
