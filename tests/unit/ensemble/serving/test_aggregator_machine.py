"""The aggregator under any sequence of events, compared after each with a simple model of the expected results."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from podium.ensemble.protocol.prediction_messages import Reply, Request
from podium.ensemble.serving.aggregator_limits import AggregatorLimits
from podium.ensemble.serving.pending_request import PendingRequest
from podium.ensemble.serving.replica_link import ReplicaLink
from podium.ensemble.values.ensemble_snapshot import Replica, Snapshot, Traffic
from podium.ensemble.values.ensemble_spec import Mode, Rule
from podium.ensemble.values.ensemble_states import MemberState
from podium.ensemble.values.prediction import MemberStatus, Prediction
from tests.aggregator_model import Expected, Model, ModelConnection, ModelRequest, Slot
from tests.aggregator_rig import AggregatorRig, ended_count, statuses
from tests.ensemble_fakes import FEATURES, replicated, snapshot, traffic

OWN_MS = 1000.0
# Small enough to be reached; hedges are frequent enough to have an effect.
LIMITS = AggregatorLimits(requests=12, replica_requests=5, hedge_share=0.5, replies_per_quantile=2)
BETWEEN, IN_GRAPH = 1, 2
REPLICAS = {
    1: ((20, 21), (22,), (23,)),  # of each member, by version
    2: ((30, 31), (32,), (33, 34)),
}
IN_GRAPH_REPLICAS = (50, 51)
EVERY_REPLICA = [r for members in REPLICAS.values() for member in members for r in member] + list(IN_GRAPH_REPLICAS)

KINDS: dict[str, Callable[[Reply], Reply]] = {
    "another id": lambda reply: replace(reply, request_id=reply.request_id + 1),
    "an unknown id": lambda reply: replace(reply, request_id=1),
    "the last epoch": lambda reply: replace(reply, epoch=reply.epoch - 1),
    "the next epoch": lambda reply: replace(reply, epoch=reply.epoch + 1),
    "error": lambda reply: replace(reply, status="error", predictions=None),
    "refused": lambda reply: replace(reply, status="refused", predictions=None),
    "expired": lambda reply: replace(reply, status="expired", predictions=None),
    "a status of its own": lambda reply: replace(reply, status="fine"),
    "no predictions": lambda reply: replace(reply, predictions=None),
    "a row more": lambda reply: replace(reply, predictions=_of(reply)[:, [0, *range(_of(reply).shape[1])]]),
    "NaN": lambda reply: replace(reply, predictions=_of(reply) * np.float32(np.nan)),
    "its first fails": lambda reply: replace(reply, failed={"0": "out of memory"}),
}
SHARES = st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9])
GARBAGE = [[b"hello"], [b""], [b"{}", b"1234"], []]


def _of(reply: Reply) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    assert reply.predictions is not None
    return reply.predictions


def valid_reply(request: Request, members: int, share: float) -> Reply:
    """A valid reply whose predictions no other reply has."""
    first = np.linspace(share, share / 2, members * len(request.inputs), dtype=np.float32)
    first = first.reshape(members, len(request.inputs))
    return Reply(request.request_id, request.epoch, "ok", predictions=np.stack([first, 1 - first], axis=-1))


class AggregatorMachine(RuleBasedStateMachine):
    """Each rule acts on the aggregator, updates the model, and compares the two."""

    @initialize()
    def start(self) -> None:
        self.rig = AggregatorRig(limits=LIMITS)
        self.model = Model()
        self.pending_requests: dict[int, PendingRequest] = {}
        self.answers: list[tuple[list[PendingRequest], Prediction]] = []
        self.history: list[tuple[ModelConnection, Request]] = []
        self.hedged = 0
        self.past: list[PendingRequest] = []
        self.replicas = {r: Replica(r, MemberState.READY, 1, f"{r}/1") for r in EVERY_REPLICA}
        self.active, self.canary, self.has_in_graph = 1, False, True
        self.update()

    def teardown(self) -> None:
        if not hasattr(self, "rig"):
            return
        dying = [*self.model.lines.values(), *self.model.drained]
        self.rig.aggregator.close()
        self.model.lines.clear()
        for line in dying:
            self.die(line, [], [])
        self.compare()
        assert not self.model.live
        self.rig.assert_idle()
        assert all(connection.closed for connection in self.rig.transport.connections)

    # State.

    def version(self, number: int) -> Snapshot:
        members = [replicated(n, *(self.replicas[r] for r in replicas)) for n, replicas in enumerate(REPLICAS[number])]
        return snapshot(
            *members, quorum=2, deadline_ms=OWN_MS, version=number, rule=Rule.WEIGHTED, weights=(0.5, 0.3, 0.2)
        )

    def in_graph(self) -> Snapshot:
        replicas = [self.replicas[r] for r in IN_GRAPH_REPLICAS]
        members = [replicated(n, *replicas) for n in range(3)]
        return snapshot(*members, quorum=2, deadline_ms=OWN_MS, ensemble_id=IN_GRAPH, mode=Mode.IN_GRAPH)

    def traffic(self) -> list[Traffic]:
        canary = self.version(3 - self.active) if self.canary else None
        found = [traffic(self.version(self.active), canary, 0.5)]
        return [*found, traffic(self.in_graph())] if self.has_in_graph else found

    def update(self) -> None:
        """The host reports its replicas; the model drops, drains and opens connections accordingly."""
        now = self.traffic()
        snapshots = [s for item in now for s in (item.active, item.canary) if s is not None]
        replicas = {r.replica_id: r for s in snapshots for member in s.members for r in member.replicas}
        before = self.available()
        self.rig.update(*now)
        sends = self.note_sends(probes=True)
        for line in list(self.model.lines.values()):
            wanted = replicas.get(line.replica_id)
            if wanted is not None and wanted.state is MemberState.READY and wanted.epoch == line.epoch:
                continue
            del self.model.lines[line.replica_id]
            if wanted is None and (self.model.pending(line) or line.is_probed(self.rig.timer.now_s())):
                line.draining = True
                self.model.drained.append(line)
            else:
                self.die(line, sends, before)
        self.assert_no_unexpected(sends)
        self.open(replicas)
        for line in [line for line in self.model.drained if self.is_idle(line)]:
            self.model.drained.remove(line)
        self.model.forget(set(replicas), {(s.ensemble_id, s.version) for s in snapshots})
        self.compare()

    def open(self, replicas: dict[int, Replica]) -> None:
        for replica in replicas.values():
            if replica.state is MemberState.READY and replica.replica_id not in self.model.lines:
                assert replica.endpoint is not None
                connection = self.rig.transport[replica.endpoint]
                self.model.opened(ModelConnection(connection, replica.replica_id, replica.epoch))

    def is_idle(self, line: ModelConnection) -> bool:
        return not self.model.pending(line) and not line.is_probed(self.rig.timer.now_s())

    def links(self) -> Mapping[int, ReplicaLink]:
        return self.rig.aggregator.links.by_replica

    def available(self) -> list[ModelConnection]:
        """The connections that can receive a request, according to the model and the breakers."""
        links = self.links()
        return [
            line
            for line in self.model.lines.values()
            if not line.down and not links[line.replica_id].breaker.is_open and len(line.owed) < LIMITS.replica_requests
        ]

    # Observation.

    def note_sends(self, *, probes: bool) -> list[tuple[ModelConnection, Request]]:
        """The requests sent since the last call; probes are recorded in the model instead."""
        found = []
        for line in [*self.model.lines.values(), *self.model.drained]:
            for request in line.connection.sent[line.seen :]:
                if request.request_id in self.model.live or request.request_id in self.pending_requests:
                    found.append((line, request))
                    continue
                assert probes, "an unexpected probe"
                assert request.inputs.shape == (1, FEATURES)
                assert not request.inputs.any()
                assert not line.is_probed(self.rig.timer.now_s()), "one probe at a time"
                self.model.probed(line, request, self.rig.timer.now_s() + OWN_MS / 1000)
                self.history.append((line, request))
            line.seen = len(line.connection.sent)
        self.history += found
        return found

    def die(
        self,
        line: ModelConnection,
        sends: list[tuple[ModelConnection, Request]],
        could_take_over: Iterable[ModelConnection],
    ) -> None:
        """The worker is gone: each pending request moves to another replica, or has its answer."""
        pending = self.model.pending(line)
        line.owed.clear()
        line.probe = None
        for asked, slot in pending:
            if self.model.record_reply(line, asked, slot, None):
                self.take_over(asked, slot, sends, could_take_over)
            self.model.end_if_complete(asked)

    def assert_no_unexpected(self, sends: list[tuple[ModelConnection, Request]]) -> None:
        """No request was sent without a reason."""
        for line, request in sends:
            assert request.request_id in line.owed or line.down or line.connection.closed, "sent without a reason"

    def send(self, line: ModelConnection, request: Request, asked: ModelRequest, slot: Slot) -> None:
        """A request was sent to a worker, with the remaining time."""
        assert (request.epoch, len(request.inputs)) == (line.epoch, asked.rows)
        assert request.left_ms == pytest.approx((asked.due_s - self.rig.timer.now_s()) * 1000, abs=1e-6)
        self.model.sent(line, request, asked, slot)

    def take_over(
        self,
        asked: ModelRequest,
        slot: Slot,
        sends: list[tuple[ModelConnection, Request]],
        could_take_over: Iterable[ModelConnection],
    ) -> None:
        """The request moves to another replica that has not had it yet, if there is one."""
        for line, request in sends:
            if request.request_id == asked.request_id and line.replica_id in slot.replica_ids:
                slot.status = None
                self.send(line, request, asked, slot)
                return
        after = self.available()
        for line in could_take_over:
            is_other = line.replica_id in slot.replica_ids and line.replica_id not in slot.tried
            assert not (is_other and line in after and not line.connection.full), "no replica took over"

    def compare(self) -> None:
        """Each request has exactly the answer that the model expects, once."""
        found = {box[0].request_id: prediction for box, prediction in self.answers}
        assert len(found) == len(self.answers), "two outcomes of one request"
        assert found.keys() == self.model.over.keys()
        for request_id, expected in self.model.over.items():
            prediction = found[request_id]
            outputs = None if prediction.outputs is None else prediction.outputs.tobytes()
            answered = prediction.answered_positions
            assert Expected(prediction.outcome, tuple(statuses(prediction)), answered, outputs) == expected
            assert prediction.total_ms <= prediction.deadline_ms + 1e-6
            del self.pending_requests[request_id]
        self.answers.clear()
        self.model.over.clear()

    # Clients.

    @rule(in_graph=st.booleans(), rows=st.integers(1, 2), deadline_ms=st.sampled_from([None, 1.0, 40.0, 400.0, 5000.0]))
    def ask(self, in_graph: bool, rows: int, deadline_ms: float | None) -> None:
        self.admit(in_graph, rows, deadline_ms)

    def admit(self, in_graph: bool, rows: int, deadline_ms: float | None) -> list[Slot]:
        """A request; returns its slots, one per worker."""
        item = self.rig.aggregator.ensembles.by_id(IN_GRAPH if in_graph else BETWEEN)
        if item is None:
            return []
        now = self.rig.aggregator.ensembles.choose(item, None)
        inputs = np.ones((rows, FEATURES), np.float32)
        available, owed = self.available(), {r: len(line.owed) for r, line in self.model.lines.items()}
        sheds = len(self.model.live) >= LIMITS.requests
        box: list[PendingRequest] = []
        pending = self.rig.aggregator.admit(
            now, inputs, deadline_ms, lambda prediction: self.answers.append((box, prediction))
        )  # fmt: skip
        box.append(pending)
        self.rig.timer.end_turn()
        self.pending_requests[pending.request_id] = pending
        due_s = self.rig.timer.now_s() + min(deadline_ms or OWN_MS, OWN_MS) / 1000
        asked = self.model.admit(pending.request_id, now, rows, due_s)
        sends = self.note_sends(probes=True)
        if sheds:
            assert sends == []
            self.model.shed(asked)
        else:
            for slot in asked.slots:
                self.start_slot(asked, slot, available, owed, sends)
            self.model.end_if_complete(asked)
        self.assert_no_unexpected(sends)
        self.compare()
        self.past.append(pending)
        return asked.slots

    def start_slot(
        self,
        asked: ModelRequest,
        slot: Slot,
        available: list[ModelConnection],
        owed: dict[int, int],
        sends: list[tuple[ModelConnection, Request]],
    ) -> None:
        """The slot goes to the least loaded replica, to the next if that one is full, and otherwise is answered now."""
        order = {r: n for n, r in enumerate(slot.replica_ids)}
        able = [line for line in available if line.replica_id in slot.replica_ids]
        able.sort(key=lambda line: (owed[line.replica_id], order[line.replica_id]))
        target = next((line for line in able[:2] if not line.connection.full), None)
        slot.tried |= {line.replica_id for line in able[: 2 if target is None else able.index(target)]}
        mine = [(line, request) for line, request in sends if line.replica_id in slot.replica_ids]
        assert [line for line, _ in mine] == ([] if target is None else [target])
        if target is not None:
            self.send(target, mine[0][1], asked, slot)
        elif able:
            slot.status = MemberStatus.QUEUE_FULL
        else:
            slot.status = self.unavailable_status(slot, owed)

    def unavailable_status(self, slot: Slot, owed: dict[int, int]) -> MemberStatus:
        for replica_id in slot.replica_ids:
            line = self.model.lines.get(replica_id)
            if line is None:
                continue
            if line.down:
                return MemberStatus.UNAVAILABLE
            return (
                MemberStatus.QUEUE_FULL if not self.links()[replica_id].breaker.is_open else MemberStatus.SKIPPED_OPEN
            )
        return MemberStatus.UNAVAILABLE

    @precondition(lambda self: self.model.live)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        asked = self.model.live[data.draw(st.sampled_from(sorted(self.model.live)))]
        self.rig.aggregator.cancel(self.pending_requests.pop(asked.request_id))
        self.model.cancel(asked)
        self.compare()

    @precondition(lambda self: any(pending.completed for pending in self.past))
    @rule(data=st.data(), leaves=st.booleans())
    def touch_completed(self, data: st.DataObject, leaves: bool) -> None:
        """A deadline or a cancellation after the request has completed."""
        over = [pending for pending in self.past if pending.completed]
        pending = over[data.draw(st.integers(0, len(over) - 1))]
        (self.rig.aggregator.cancel if leaves else self.rig.aggregator.expire)(pending)
        self.compare()

    # Workers.

    @precondition(lambda self: any(self.model.pending(line) for line in self.all_lines()))
    @rule(data=st.data(), share=SHARES)
    def answer(self, data: st.DataObject, share: float) -> None:
        """A valid reply to a pending request."""
        waiting = [(line, asked.request_id) for line in self.all_lines() for asked, _ in self.model.pending(line)]
        line, request_id = waiting[data.draw(st.integers(0, len(waiting) - 1))]
        self.say(line, valid_reply(line.owed[request_id], self.members_at(line), share))

    @precondition(lambda self: self.history)
    @rule(data=st.data(), kind=st.sampled_from(["ok", *KINDS]), share=SHARES)
    def answer_any(self, data: st.DataObject, kind: str, share: float) -> None:
        """A reply to any earlier request: first or repeated, in time or late, valid or invalid."""
        line, request = self.history[-1 - data.draw(st.integers(0, min(30, len(self.history)) - 1))]
        reply = valid_reply(request, self.members_at(line), share)
        self.say(line, reply if kind == "ok" else KINDS[kind](reply))

    @rule(
        times=st.integers(1, 8),
        in_graph=st.booleans(),
        member=st.integers(0, 2),
        kind=st.sampled_from(["ok", "ok", "ok", "error", "NaN", "refused", "silent"]),
        seconds=st.sampled_from([0.0, 0.005, 0.02]),
    )
    def exchange(self, times: int, in_graph: bool, member: int, kind: str, seconds: float) -> None:
        """Requests that all members but one answer well, for idle periods and for breakers that open."""
        for _ in range(times):
            slots = self.admit(in_graph, 1, None)
            self.wait(seconds)
            for position, slot in enumerate(slots):
                if kind == "silent" and position == member:
                    continue
                for line in list(slot.waiting):
                    reply = valid_reply(line.connection.sent[-1], self.members_at(line), 0.25)
                    self.say(line, KINDS[kind](reply) if position == member and kind != "ok" else reply)
            if kind == "silent":
                self.wait(OWN_MS / 1000)

    @rule(data=st.data(), garbage=st.sampled_from(GARBAGE))
    def send_garbage(self, data: st.DataObject, garbage: list[bytes]) -> None:
        lines = self.all_lines()
        if lines:
            lines[data.draw(st.integers(0, len(lines) - 1))].connection.answer(garbage)
            self.model.dropped["garbled"] += 1
            self.compare()

    def say(self, line: ModelConnection, reply: Reply) -> None:
        before = self.available()
        was_open = not line.connection.closed
        line.connection.answer(reply)
        if was_open:
            found = self.model.on_reply(line, reply, self.rig.timer.now_s())
            sends = self.note_sends(probes=False)
            if found is not None:
                self.take_over(*found, sends, before)
            if reply.request_id in self.model.live:
                self.model.end_if_complete(self.model.live[reply.request_id])
            self.assert_no_unexpected(sends)
        self.compare()

    @precondition(lambda self: self.all_lines())
    @rule(data=st.data(), happens=st.sampled_from(["crash", "come back", "full", "heal", "heal"]))
    def connection(self, data: st.DataObject, happens: str) -> None:
        """A connection is lost, reconnects, becomes full or free again; or all connections recover."""
        lines = self.all_lines()
        line = lines[data.draw(st.integers(0, len(lines) - 1))]
        if happens == "crash" and not line.down:
            self.crash(line)
        elif happens == "come back":
            self.come_back(line)
        elif happens == "full":
            line.connection.full = not line.connection.full
        elif happens == "heal":
            for each in lines:
                each.connection.full = False
                self.come_back(each)

    def crash(self, line: ModelConnection) -> None:
        before = [each for each in self.available() if each is not line]
        deaths = len(self.rig.deaths)
        line.connection.disconnect()
        assert len(self.rig.deaths) == deaths + 1, "the host is notified"
        line.down = True
        sends = self.note_sends(probes=False)
        self.die(line, sends, before)
        self.assert_no_unexpected(sends)
        self.compare()

    def come_back(self, line: ModelConnection) -> None:
        line.connection.reconnect()
        line.down = False

    def all_lines(self) -> list[ModelConnection]:
        return [*self.model.lines.values(), *self.model.drained]

    def members_at(self, line: ModelConnection) -> int:
        return 3 if line.replica_id in IN_GRAPH_REPLICAS else 1

    # The host.

    @rule(
        replica_id=st.sampled_from(EVERY_REPLICA),
        says=st.sampled_from(["restarted", "gone", "all there", "swap", "canary", "in graph", "nothing"]),
    )
    def host(self, replica_id: int, says: str) -> None:
        """A process restarts or is gone; a version takes over; a canary comes or goes; an ensemble stops or starts."""
        if says == "restarted":
            self.restart(replica_id)
        elif says == "gone":
            self.replicas[replica_id] = dataclasses.replace(self.replicas[replica_id], state=MemberState.RESTARTING)
        elif says == "all there":
            for replica in self.replicas.values():
                if replica.state is not MemberState.READY:
                    self.restart(replica.replica_id)
        elif says == "swap":
            self.active = 3 - self.active
        self.canary ^= says == "canary"
        self.has_in_graph ^= says == "in graph"
        self.update()

    def restart(self, replica_id: int) -> None:
        epoch = self.replicas[replica_id].epoch + 1
        self.replicas[replica_id] = Replica(replica_id, MemberState.READY, epoch, f"{replica_id}/{epoch}")

    # Time.

    @rule(seconds=st.sampled_from([0.0005, 0.01, 0.1, 0.6]))
    def wait(self, seconds: float) -> None:
        until_s = self.rig.timer.now_s() + seconds
        while self.rig.timer.step(until_s):
            self.timer_fired()
        assert not [asked for asked in self.model.live.values() if asked.due_s < until_s - 1e-6], "still in flight"

    def timer_fired(self) -> None:
        """One timer fired: a deadline, a hedge, or the end of a probe."""
        for line, request in self.note_sends(probes=False):
            asked = self.model.live[request.request_id]
            (slot,) = [slot for slot in asked.slots if line.replica_id in slot.replica_ids]
            assert slot.status is None
            assert slot.waiting
            self.send(line, request, asked, slot)
            self.model.counts[line.replica_id]["hedges"] += 1
            self.hedged += 1
        for box, _ in self.answers:
            asked = self.model.live[box[0].request_id]
            assert asked.due_s == pytest.approx(self.rig.timer.now_s(), abs=1e-6)
            self.model.expire(asked)
        self.compare()

    # Invariants.

    @invariant()
    def counters_equal_the_model(self) -> None:
        counts = self.rig.aggregator.counts
        assert counts.dropped == +self.model.dropped
        assert counts.members.keys() == self.model.counts.keys()
        for replica_id, found in counts.members.items():
            expected = self.model.counts[replica_id]
            for name in ("sent", "ok", "late", "error", "died", "dropped", "hedges", "probes"):
                assert getattr(found, name) == expected[name], (replica_id, name)
            assert found.pending == self.model.pending_count(replica_id)
            assert found.sent == found.pending + sum(ended_count(found))
        assert counts.ensembles.keys() == self.model.admitted.keys()
        for key, ensemble in counts.ensembles.items():
            assert +self.model.outcomes[key] == {o: n for o, n in ensemble.outcomes.items() if n}
            assert ensemble.in_flight == self.model.in_flight(key)
            assert ensemble.admitted == self.model.admitted[key] == sum(ensemble.outcomes.values()) + ensemble.in_flight

    @invariant()
    def nothing_leaks(self) -> None:
        live, now_s = self.model.live, self.rig.timer.now_s()
        aggregator = self.rig.aggregator
        assert self.pending_requests.keys() == live.keys()
        assert aggregator.in_flight == len(live) <= LIMITS.requests
        assert aggregator.in_flight_bytes == sum(4 * FEATURES * asked.rows for asked in live.values())
        assert self.links().keys() == self.model.lines.keys()
        for replica_id, link in self.links().items():
            line = self.model.lines[replica_id]
            assert link.in_flight_ids == list(line.owed)
            assert link.in_flight_bytes == sum(request.inputs.nbytes for request in line.owed.values())
            assert link.pending == len(self.model.pending(line)) + line.is_probed(now_s)
        open_wires = {line.connection for line in self.all_lines()}
        assert {connection for connection in self.rig.transport.connections if not connection.closed} == open_wires
        probes = sum(line.is_probed(now_s) for line in self.all_lines())
        assert self.rig.timer.waiting <= probes + sum(1 + len(asked.slots) for asked in live.values())
        assert (
            self.hedged <= LIMITS.hedge_share * sum(counts["sent"] for counts in self.model.counts.values())
            or self.has_removed_counters
        )

    @property
    def has_removed_counters(self) -> bool:
        """Whether counters were removed, so that they do not cover every request sent."""
        return len(self.history) > sum(counts["sent"] + counts["probes"] for counts in self.model.counts.values())


TestAggregatorMachine = AggregatorMachine.TestCase
TestAggregatorMachine.settings = settings(
    stateful_step_count=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
