"""The fifteen guarantees of a between-graph ensemble: at least one test for each, by number."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray
from prometheus_client.parser import text_string_to_metric_families

from podium.api.gateway.podium_format_prediction_routes import REFUSALS
from podium.ensemble.protocol.prediction_messages import Reply, Request, pack_reply, pack_requests, unpack_replies
from podium.ensemble.scoring.combine import combine
from podium.ensemble.serving.aggregator_limits import AggregatorLimits
from podium.ensemble.serving.circuit_breaker import FIRST_PROBE_S, OPEN_AFTER
from podium.ensemble.serving.replica_link import ABANDON_AFTER_S, MIN_IN_FLIGHT_FOR_ESTIMATE
from podium.ensemble.values.ensemble_snapshot import Snapshot
from podium.ensemble.values.ensemble_spec import Rule
from podium.ensemble.values.ensemble_states import MemberState
from podium.ensemble.values.prediction import MemberStatus, Outcome
from podium.ensemble.worker.inference_server import WorkerServer
from podium.ensemble.worker.neural_network_interface import Network, NetworkOutputs
from tests.aggregator_rig import AggregatorRig, FakeConnection, firsts, statuses
from tests.ensemble_fakes import (
    CLASSES,
    ROWS,
    FakeNetwork,
    member,
    ok,
    probabilities,
    replica,
    replicated,
    snapshot,
    traffic,
)
from tests.inference_fakes import metrics_text
from tests.message_client import MessageClient

OK, LATE, ERROR, INVALID, DIED = (
    MemberStatus.OK, MemberStatus.LATE, MemberStatus.ERROR, MemberStatus.INVALID, MemberStatus.DIED
)  # fmt: skip


def three(
    limits: AggregatorLimits | None = None, **options: Any
) -> tuple[AggregatorRig, Snapshot, list[FakeConnection]]:
    """An aggregator with members at a, b and c."""
    now = snapshot(member("a"), member("b", 1), member("c", 2), **options)
    rig = AggregatorRig(traffic(now), limits=limits)
    return rig, now, rig.connections("a", "b", "c")


def in_two_processes(**options: Any) -> tuple[AggregatorRig, Snapshot, list[FakeConnection]]:
    """An aggregator with one member that has replicas at a and b."""
    now = snapshot(replicated(0, replica("a", 20), replica("b", 21)), **options)
    rig = AggregatorRig(traffic(now))
    return rig, now, rig.connections("a", "b")


# 1. Exactly one outcome.


def _all_answer(rig: AggregatorRig, connections: list[FakeConnection]) -> None:
    for connection in connections:
        connection.send_first()


def _one_fails(rig: AggregatorRig, connections: list[FakeConnection]) -> None:
    _all_answer(rig, connections[1:])
    connections[0].send_first(status="error", predictions=None)


def _two_fail(rig: AggregatorRig, connections: list[FakeConnection]) -> None:
    connections[0].send_first(status="error", predictions=None)
    connections[1].disconnect()
    connections[2].send_first()


def _nobody_answers(rig: AggregatorRig, connections: list[FakeConnection]) -> None:
    rig.timer.advance(60)


ENDS = [
    (_all_answer, Outcome.OK),
    (_one_fails, Outcome.DEGRADED),
    (_two_fail, Outcome.BELOW_QUORUM),
    (_nobody_answers, Outcome.DEADLINE),
]


@pytest.mark.parametrize(("ends", "outcome"), ENDS, ids=[outcome.value for _, outcome in ENDS])
def test_guarantee_01_exactly_one_outcome_whatever_follows(
    ends: Callable[[AggregatorRig, list[FakeConnection]], None], outcome: Outcome
) -> None:
    rig, now, connections = three(quorum=2)
    pending = rig.admit(now)
    ends(rig, connections)
    assert [prediction.outcome for prediction in rig.done] == [outcome]
    _all_answer(rig, connections)
    rig.timer.advance(60)
    rig.aggregator.expire(pending)
    rig.aggregator.cancel(pending)
    for connection in connections:
        connection.disconnect()
    rig.aggregator.close()
    assert [prediction.outcome for prediction in rig.done] == [outcome]
    counts = rig.aggregator.counts.ensembles[(1, 1)]
    assert +Counter(counts.outcomes) == {outcome: 1}
    rig.assert_idle()


def test_guarantee_01_shed_and_cancelled_are_outcomes() -> None:
    rig, now, connections = three(AggregatorLimits(requests=1))
    first = rig.admit(now)
    rig.admit(now)
    assert [prediction.outcome for prediction in rig.done] == [Outcome.SHED]
    rig.aggregator.cancel(first)
    _all_answer(rig, connections)
    rig.timer.advance(60)
    assert [prediction.outcome for prediction in rig.done] == [Outcome.SHED]  # a cancelled request gets no answer
    outcomes = rig.aggregator.counts.ensembles[(1, 1)].outcomes
    assert +Counter(outcomes) == {Outcome.SHED: 1, Outcome.CANCELLED: 1}
    rig.assert_idle()


# 2. A reply counts only for its own slot.

STRANGE: list[tuple[str, Callable[[Request], Reply | list[bytes]]]] = [
    ("unknown", lambda request: replace(ok(request, 0.1), request_id=request.request_id + 1)),
    ("stale_epoch", lambda request: replace(ok(request, 0.1), epoch=request.epoch - 1)),
    ("stale_epoch", lambda request: replace(ok(request, 0.1), epoch=request.epoch + 1)),
    ("garbled", lambda _: [b"hello"]),
]


@pytest.mark.parametrize(("reason", "makes"), STRANGE)
def test_guarantee_02_reply_without_a_pending_slot_is_dropped_and_counted(
    reason: str, makes: Callable[[Request], Reply | list[bytes]]
) -> None:
    rig, now, (a, b, c) = three()
    rig.admit(now)
    a.answer(makes(a.sent[-1]))
    b.send_first(0.5)
    c.send_first(0.5)
    assert rig.done == []
    assert rig.aggregator.counts.dropped == {reason: 1}
    a.send_first(0.9)
    assert firsts(rig.done[0]) == pytest.approx([0.9, 0.5, 0.5])


def test_guarantee_02_request_of_another_member_is_unknown() -> None:
    """A slot belongs to a member: an id that is pending at another member is not pending here."""
    now, other = snapshot(member("a")), snapshot(member("b", 1), ensemble_id=2)
    rig = AggregatorRig(traffic(now), traffic(other))
    a, b = rig.connections("a", "b")
    rig.admit(now)
    rig.admit(other)
    b.answer(ok(a.sent[-1]))
    assert rig.done == []
    assert rig.aggregator.counts.dropped == {"unknown": 1}


def test_guarantee_02_late_reply_never_affects_the_next_request() -> None:
    rig, now, connections = three(deadline_ms=100.0)
    rig.admit(now)
    rig.timer.advance(0.1)
    rig.admit(now)
    for connection in connections:
        first, second = connection.sent
        assert first.request_id != second.request_id
        connection.answer(ok(first, 0.1))
        connection.answer(ok(second, 0.9))
    assert [prediction.outcome for prediction in rig.done] == [Outcome.DEADLINE, Outcome.OK]
    assert firsts(rig.done[1]) == pytest.approx([0.9] * 3)
    assert rig.aggregator.counts.dropped == {"late": 3}


def test_guarantee_02_replies_are_matched_by_id_and_not_by_order() -> None:
    now = snapshot(member("a"))
    rig = AggregatorRig(traffic(now))
    a = rig.transport["a"]
    for _ in range(3):
        rig.admit(now)
    for number in (2, 0, 1):
        a.answer(ok(a.sent[number], number / 4))
    assert [firsts(prediction)[0] for prediction in rig.done] == [0.5, 0.0, 0.25]


def test_guarantee_02_ids_are_never_reused_even_after_a_restart() -> None:
    seen = []
    for _ in range(20):
        rig, now, (a, _, _) = three()
        for _ in range(5):
            rig.admit(now)
        seen += [request.request_id for request in a.sent]
    assert len(set(seen)) == 100


# 3. At most one prediction per member per request.


def test_guarantee_03_only_the_first_reply_of_a_member_counts() -> None:
    rig, now, (a, b, c) = three()
    rig.admit(now)
    a.send_first(0.9)
    a.send_first(0.1)
    b.send_first(0.5)
    c.send_first(0.5)
    assert firsts(rig.done[0]) == pytest.approx([0.9, 0.5, 0.5])
    assert rig.aggregator.counts.dropped == {"duplicate": 1}


def test_guarantee_03_one_of_two_replies_of_replicas_counts() -> None:
    rig, now, connections = in_two_processes()
    first, second = _hedged(rig, now, connections)
    first.send_first(0.1)
    second.send_first(0.9)
    assert firsts(rig.done[-1]) == pytest.approx([0.1])
    assert rig.aggregator.counts.dropped == {"late": 1}
    rig.assert_idle()


def _hedged(
    rig: AggregatorRig, now: Snapshot, connections: list[FakeConnection]
) -> tuple[FakeConnection, FakeConnection]:
    """A request that both replicas have; the one that received it first comes first."""
    for number in range(100):
        _clear(connections)
        rig.admit(now)
        rig.timer.advance(0.010 if number < 16 else 0.005)  # so that the 95th percentile is 10 ms
        next(connection for connection in connections if connection.sent).send_first()
    _clear(connections)
    rig.admit(now)
    first = next(connection for connection in connections if connection.sent)
    rig.timer.advance(0.02)
    (second,) = [connection for connection in connections if connection is not first]
    assert [len(connection.sent) for connection in connections] == [1, 1]
    return first, second


def _clear(connections: list[FakeConnection]) -> None:
    for connection in connections:
        connection.sent.clear()


# 4. Everything is bounded.


def test_guarantee_04_full_connection_is_reported_immediately() -> None:
    rig, now, (a, b, c) = three()
    a.full = True
    rig.admit(now)
    b.send_first()
    c.send_first()
    assert statuses(rig.done[0]) == [MemberStatus.QUEUE_FULL, OK, OK]
    assert rig.done[0].total_ms == 0
    assert rig.counts(20).skipped == 1


def test_guarantee_04_requests_in_flight_per_member_are_bounded() -> None:
    rig, now, (a, b, c) = three(AggregatorLimits(replica_requests=4))
    for _ in range(10):
        rig.admit(now)
        b.send_first()
        c.send_first()
    assert len(a.sent) == 4
    assert [statuses(prediction)[0] for prediction in rig.done] == [MemberStatus.QUEUE_FULL] * 6
    assert rig.counts(20).skipped == 6
    a.answer(ok(a.sent[0]))
    rig.admit(now)
    assert len(a.sent) == 5


def test_guarantee_04_bytes_in_flight_per_member_are_bounded() -> None:
    rig, now, connections = three(AggregatorLimits(replica_bytes=2 * ROWS.nbytes))
    for _ in range(3):
        rig.admit(now)
    assert [len(connection.sent) for connection in connections] == [2, 2, 2]
    assert [statuses(prediction) for prediction in rig.done] == [[MemberStatus.QUEUE_FULL] * 3]


def test_guarantee_04_requests_and_bytes_in_flight_are_bounded() -> None:
    for limits in (AggregatorLimits(requests=3), AggregatorLimits(request_bytes=3 * ROWS.nbytes)):
        rig, now, connections = three(limits)
        for _ in range(5):
            rig.admit(now)
        assert [prediction.outcome for prediction in rig.done] == [Outcome.SHED] * 2
        for connection in connections:
            connection.answer(ok(connection.sent[0]))
        assert rig.done[-1].outcome is Outcome.OK
        rig.admit(now)
        assert len(rig.done) == 3


def test_guarantee_04_lost_replies_are_abandoned_after_a_time() -> None:
    now = snapshot(member("a"), deadline_ms=600_000.0)
    rig = AggregatorRig(traffic(now), limits=AggregatorLimits(replica_requests=4))
    a = rig.transport["a"]
    for deadline_ms in (100.0, 100.0, None, None):
        rig.admit(now, deadline_ms)
    rig.timer.advance(ABANDON_AFTER_S + 1)
    rig.admit(now)
    assert len(a.sent) == 5
    a.answer(ok(a.sent[2], 0.75))  # this one is still pending
    assert firsts(rig.done[-1]) == [0.75]


# 5. The deadline.


def test_guarantee_05_answer_is_sent_at_the_deadline() -> None:
    rig, now, (a, _b, c) = three(deadline_ms=100.0)
    rig.admit(now, 50.0)
    rig.timer.advance(0.03)
    a.send_first()
    rig.timer.advance(0.0199)
    assert rig.done == []
    rig.timer.advance(0.0001)
    assert statuses(rig.done[0]) == [OK, LATE, LATE]
    assert rig.done[0].total_ms == pytest.approx(50.0)
    c.send_first()
    assert rig.done[0].answered == 1


def test_guarantee_05_answer_is_sent_early_when_all_live_members_have_replied() -> None:
    rig, now, (a, b, c) = three()
    rig.admit(now)
    rig.timer.advance(0.007)
    c.disconnect()
    a.send_first()
    b.send_first()
    assert statuses(rig.done[0]) == [OK, OK, DIED]
    assert rig.done[0].total_ms == pytest.approx(7.0)


def test_guarantee_05_deadline_is_never_longer_than_that_of_the_ensemble() -> None:
    rig, now, _ = three(deadline_ms=100.0)
    rig.admit(now, 60_000.0)
    rig.timer.advance(0.1)
    assert (rig.done[0].outcome, rig.done[0].deadline_ms) == (Outcome.DEADLINE, 100.0)


def test_guarantee_05_all_requests_that_are_due_expire_in_one_pass() -> None:
    rig, now, _ = three(deadline_ms=1000.0)
    for _ in range(3):
        rig.admit(now)
        rig.timer.stall(0.004)
    rig.timer.stall(0.99)
    assert rig.timer.step(rig.timer.now_s())  # one call of the timer
    assert [prediction.total_ms for prediction in rig.done] == pytest.approx([1002.0])
    rig.timer.stall(0.02)
    assert rig.timer.step(rig.timer.now_s())
    assert len(rig.done) == 3
    rig.assert_idle()


def test_guarantee_05_deadline_counts_from_the_arrival_of_the_request() -> None:
    rig, now, (a, _, _) = three(deadline_ms=100.0)
    arrived_s = rig.timer.now_s() - 0.03
    rig.aggregator.admit(now, ROWS, None, rig.done.append, arrived_s)
    rig.timer.end_turn()
    assert a.sent[0].left_ms == pytest.approx(70.0)
    rig.timer.advance(0.0699)
    assert rig.done == []
    rig.timer.advance(0.0002)
    assert rig.done[0].total_ms == pytest.approx(100.0)


# 6. The remaining time is sent with the request.


def test_guarantee_06_remaining_time_is_sent_even_after_a_takeover() -> None:
    rig, now, connections = in_two_processes(deadline_ms=100.0)
    rig.admit(now, 80.0)
    (first,) = [connection for connection in connections if connection.sent]
    (second,) = [connection for connection in connections if not connection.sent]
    rig.timer.advance(0.03)
    first.send_first(status="refused", predictions=None)
    assert first.sent[0].left_ms == pytest.approx(80.0)
    assert second.sent[0].left_ms == pytest.approx(50.0)


class Worker:
    """The real worker with a network of the test, and a gateway's socket."""

    def __init__(self, folder: Path, network: Network) -> None:
        endpoint = f"unix:{folder / 'worker'}"
        self._server = WorkerServer(endpoint, 1, network)
        self._server.start()
        self._messages = MessageClient(endpoint)
        self._received: deque[Reply] = deque()

    def send(self, request_id: int, first: float = 0.5, left_ms: float = 60_000.0, epoch: int = 1) -> None:
        inputs = np.full((1, 2), first, np.float32)
        self._messages.send(pack_requests([Request(request_id, epoch, left_ms, inputs)]))

    def replies(self, count: int) -> dict[int, Reply]:
        return {reply.request_id: reply for reply in (self._reply() for _ in range(count))}

    def catch_up(self) -> None:
        """Wait until the worker has queued all earlier requests: it refuses another epoch immediately."""
        self.send(0, epoch=0)
        assert self._reply().request_id == 0

    def _reply(self) -> Reply:
        if not self._received:
            self._received += unpack_replies(self._messages.receive()).replies()
        return self._received.popleft()

    def close(self) -> None:
        self._messages.close()
        self._server.close()


@pytest.fixture
def network() -> FakeNetwork:
    return FakeNetwork()


@pytest.fixture
def worker(tmp_path: Path, network: FakeNetwork) -> Iterator[Worker]:
    opened = Worker(tmp_path, network)
    yield opened
    network.gate.set()
    opened.close()


def busy(worker: Worker, network: FakeNetwork) -> None:
    """Block the network in the computation of request 1, so that later requests queue."""
    network.gate.clear()
    worker.send(1)
    assert network.entered.acquire(timeout=30)


def test_guarantee_06_expired_work_is_dropped_before_computation(worker: Worker, network: FakeNetwork) -> None:
    busy(worker, network)
    worker.send(2, left_ms=0.0)
    worker.send(3)
    worker.catch_up()
    network.gate.set()
    found = worker.replies(3)
    assert [found[number].status for number in (1, 2, 3)] == ["ok", "expired", "ok"]
    assert network.batches == [1, 1]


# 7. The quorum.


@pytest.mark.parametrize("sound", range(4))
@pytest.mark.parametrize("quorum", [1, 2, 3])
def test_guarantee_07_fewer_than_the_quorum_returns_only_member_states(quorum: int, sound: int) -> None:
    rig, now, connections = three(quorum=quorum)
    rig.admit(now)
    for number, connection in enumerate(connections):
        if number < sound:
            connection.send_first()
        else:
            connection.send_first(status="error", message=f"boom {number}", predictions=None)
    (found,) = rig.done
    assert statuses(found) == [OK] * sound + [ERROR] * (3 - sound)
    assert [report.message for report in found.reports[sound:]] == [f"boom {number}" for number in range(sound, 3)]
    if sound < quorum:
        assert found.outcome is Outcome.BELOW_QUORUM
        assert (found.outputs, found.member_outputs, found.weights, found.answered) == (None, None, (), sound)
    else:
        assert found.outcome is (Outcome.OK if sound == 3 else Outcome.DEGRADED)
        assert found.outputs is not None


# 8. Weights, and bitwise equal results.


def test_guarantee_08_weights_renormalize_over_answering_members() -> None:
    rig, now, (a, b, c) = three(rule=Rule.WEIGHTED, weights=(0.5, 0.3, 0.2))
    rig.admit(now)
    a.send_first(1.0)
    b.send_first(status="error", predictions=None)
    c.send_first(0.0)
    (found,) = rig.done
    assert found.weights == pytest.approx((5 / 7, 2 / 7))
    assert found.outputs is not None
    np.testing.assert_allclose(found.outputs[:, 0], 5 / 7, rtol=1e-6)


@pytest.mark.parametrize("rule", [rule for rule in Rule if rule is not Rule.STACKING])
def test_guarantee_08_result_is_bitwise_equal_in_any_order_of_replies(rule: Rule) -> None:
    rig, now, connections = three(rule=rule, weights=(0.21, 0.47, 0.32))
    said = (0.1, 0.7, 0.35)
    for order in permutations(range(3)):
        rig.admit(now)
        for number in order:
            connections[number].send_first(said[number])
    expected = combine(now.combination, np.concatenate([probabilities(first) for first in said]), [0, 1, 2])
    assert {found.outputs.tobytes() for found in rig.done if found.outputs is not None} == {expected.tobytes()}
    assert len(rig.done) == 6


# 9. Replies are validated.

BAD: list[tuple[str, dict[str, Any]]] = [
    ("another number of rows", {"predictions": probabilities(0.5, rows=3)}),
    ("another number of classes", {"predictions": np.ones((1, 2, 3), np.float32)}),
    ("two members", {"predictions": probabilities(0.5, members=2)}),
    ("none", {"predictions": None}),
    ("NaN", {"predictions": np.array([[[0.5, 0.5], [0.5, np.nan]]], np.float32)}),
    ("infinite", {"predictions": np.array([[[0.5, 0.5], [np.inf, 0.5]]], np.float32)}),
    ("no status that we know", {"status": "fine"}),
]


@pytest.mark.parametrize("changes", [changes for _, changes in BAD], ids=[name for name, _ in BAD])
def test_guarantee_09_invalid_reply_is_a_failed_member(changes: dict[str, Any]) -> None:
    rig, now, (a, b, c) = three()
    rig.admit(now)
    a.send_first(**changes)
    b.send_first(0.25)
    c.send_first(0.75)
    (found,) = rig.done
    assert (found.outcome, statuses(found)) == (Outcome.DEGRADED, [INVALID, OK, OK])
    assert firsts(found) == [0.25, 0.75]
    assert rig.counts(20).error == 1


def test_guarantee_09_float64_is_not_a_valid_message() -> None:
    rig, now, (a, _, _) = three()
    rig.admit(now)
    header, _ = pack_reply(ok(a.sent[-1]))
    a.answer([bytes(header), np.full((1, 2, len(CLASSES)), 0.5).tobytes()])
    assert rig.aggregator.counts.dropped == {"garbled": 1}


# 10. Batches.


def test_guarantee_10_one_bad_request_fails_alone_after_a_single_retry(worker: Worker, network: FakeNetwork) -> None:
    busy(worker, network)
    for request_id, first in ((2, 0.25), (3, np.nan), (4, 0.75)):
        worker.send(request_id, first)
    worker.catch_up()
    network.gate.set()
    found = worker.replies(4)
    assert [found[number].status for number in (1, 2, 3, 4)] == ["ok", "ok", "error", "ok"]
    assert "poison" in found[3].message
    for number, first in ((2, 0.25), (4, 0.75)):
        predictions = found[number].predictions
        assert predictions is not None and predictions[0, 0, 0] == first  # each has its own rows
    assert network.batches == [1, 3, 1, 1, 1]


class OneRowShort(FakeNetwork):
    """A network that loses a row of every batch of more than one."""

    def predict(self, inputs: NDArray[np.float32]) -> NetworkOutputs:
        found = super().predict(inputs)
        return found if len(inputs) == 1 else replace(found, predictions=found.predictions[:, 1:])


def test_guarantee_10_batch_with_a_wrong_number_of_rows_is_recomputed_singly(tmp_path: Path) -> None:
    """No request gets the rows of another: the requests of the batch are computed one by one."""
    network = OneRowShort()
    worker = Worker(tmp_path, network)
    busy(worker, network)
    for request_id, first in ((2, 0.25), (3, 0.75)):
        worker.send(request_id, first)
    worker.catch_up()
    network.gate.set()
    found = worker.replies(3)
    predictions = [found[number].predictions for number in (2, 3)]
    assert [float(p[0, 0, 0]) for p in predictions if p is not None] == [0.25, 0.75]
    worker.close()


def test_guarantee_10_reply_with_a_wrong_number_of_rows_fails_only_its_request() -> None:
    rig, now, (a, b, c) = three()
    for _ in range(2):
        rig.admit(now)
    a.answer(replace(ok(a.sent[0]), predictions=probabilities(0.5, rows=1)))
    a.answer(ok(a.sent[1]))
    for connection in (b, c):
        for request in connection.sent:
            connection.answer(ok(request))
    assert [statuses(found) for found in rig.done] == [[INVALID, OK, OK], [OK, OK, OK]]


# 11. The life cycle of a member.


@pytest.mark.parametrize("state", [state for state in MemberState if state is not MemberState.READY])
def test_guarantee_11_member_gets_no_requests_until_it_is_warm(state: MemberState) -> None:
    now = snapshot(member("a"), member("b", 1, state=state))
    rig = AggregatorRig(traffic(now))
    rig.admit(now)
    rig.transport["a"].send_first()
    assert statuses(rig.done[0]) == [OK, MemberStatus.UNAVAILABLE]
    assert rig.done[0].reports[1].message == state.value
    assert [connection.endpoint for connection in rig.transport.connections] == ["a"]


def _crash(rig: AggregatorRig) -> None:
    rig.transport["a"].disconnect()


def _reported_by_the_host(rig: AggregatorRig) -> None:
    rig.update(traffic(snapshot(member(None, state=MemberState.RESTARTING), member("b", 1))))


def _restarted_already(rig: AggregatorRig) -> None:
    rig.update(traffic(snapshot(member("a2", epoch=2), member("b", 1))))


@pytest.mark.parametrize("dies", [_crash, _reported_by_the_host, _restarted_already])
def test_guarantee_11_death_completes_pending_requests_immediately(dies: Callable[[AggregatorRig], None]) -> None:
    now = snapshot(member("a"), member("b", 1))
    rig = AggregatorRig(traffic(now))
    for _ in range(3):
        rig.admit(now)
    b = rig.transport["b"]
    for request in b.sent:
        b.answer(ok(request))
    assert rig.done == []
    dies(rig)
    assert [(statuses(found), found.total_ms) for found in rig.done] == [([DIED, OK], 0.0)] * 3
    rig.assert_idle()


def test_guarantee_11_restarted_member_has_a_new_epoch_and_no_old_work() -> None:
    now = snapshot(member("a"))
    rig = AggregatorRig(traffic(now))
    old = rig.transport["a"]
    rig.admit(now)
    again = snapshot(member("a", epoch=2))
    rig.update(traffic(again))
    new = rig.transport["a"]
    assert (new is old, old.closed, new.sent) == (False, True, [])
    rig.admit(again)
    new.answer(ok(old.sent[0]))  # of the old epoch
    assert [statuses(found) for found in rig.done] == [[DIED]]
    new.send_first()
    assert (statuses(rig.done[1]), rig.done[1].reports[0].epoch) == ([OK], 2)


def test_guarantee_11_another_replica_takes_over_after_a_death() -> None:
    rig, now, connections = in_two_processes()
    rig.admit(now)
    (first,) = [connection for connection in connections if connection.sent]
    (second,) = [connection for connection in connections if not connection.sent]
    first.disconnect()
    assert rig.deaths == [rig.timer.now_s()]  # the host is notified
    second.send_first(0.9)
    assert firsts(rig.done[0]) == pytest.approx([0.9])
    assert rig.done[0].outcome is Outcome.OK


def test_guarantee_11_member_is_suspect_open_half_open_and_ready_again() -> None:
    rig, now, (a, b, c) = three()
    seen = []
    for _ in range(OPEN_AFTER):
        rig.admit(now)
        a.send_first(status="error", predictions=None)
        b.send_first()
        c.send_first()
        seen.append(rig.aggregator.health()[20].state)
    rig.timer.advance(FIRST_PROBE_S)
    rig.update(traffic(now))
    seen.append(rig.aggregator.health()[20].state)
    a.send_first()
    seen.append(rig.aggregator.health()[20].state)
    a.disconnect()
    seen.append(rig.aggregator.health()[20].state)
    assert seen == [
        *[MemberState.SUSPECT] * (OPEN_AFTER - 1), MemberState.OPEN, MemberState.HALF_OPEN, MemberState.READY,
        MemberState.RESTARTING,
    ]  # fmt: skip


# 12. The circuit breaker (more in test_circuit_breaker.py).


def test_guarantee_12_open_member_is_skipped_until_a_probe_succeeds() -> None:
    rig, now, (a, b, c) = three()
    for _ in range(OPEN_AFTER):
        rig.admit(now)
        b.send_first()
        c.send_first()
        rig.timer.advance(2)
    asked = len(a.sent)
    rig.admit(now)
    b.send_first()
    c.send_first()
    assert statuses(rig.done[-1]) == [MemberStatus.SKIPPED_OPEN, OK, OK]
    assert (rig.done[-1].total_ms, len(a.sent)) == (0.0, asked)
    rig.timer.advance(FIRST_PROBE_S)
    rig.update(traffic(now))
    assert len(a.sent) == asked + 1
    a.send_first()
    rig.admit(now)
    for connection in (a, b, c):
        connection.send_first()
    assert statuses(rig.done[-1]) == [OK, OK, OK]


def test_guarantee_12_consecutive_errors_or_an_error_share_open_the_breaker() -> None:
    rig, now, (a, b, c) = three()
    for number in range(9):
        rig.admit(now)
        a.send_first() if number % 2 else a.send_first(status="error", predictions=None)
        b.send_first()
        c.send_first()
    assert rig.aggregator.health()[20].state is MemberState.SUSPECT
    rig.admit(now)
    a.send_first(status="error", predictions=None)
    b.send_first()
    c.send_first()
    assert rig.aggregator.health()[20].state is MemberState.OPEN
    assert {rig.aggregator.health()[number].state for number in (21, 22)} == {MemberState.READY}


# 13. Disconnected clients, and overload.


def test_guarantee_13_disconnected_client_frees_its_slots() -> None:
    rig, now, connections = three()
    pending = rig.admit(now)
    rig.aggregator.cancel(pending)
    rig.assert_idle()
    for connection in connections:
        connection.send_first()
    assert rig.done == []
    assert rig.aggregator.counts.dropped == {"late": 3}


def test_guarantee_13_shed_request_is_sent_to_no_member() -> None:
    rig, now, connections = three(AggregatorLimits(requests=2))
    for _ in range(3):
        rig.admit(now)
    assert [len(connection.sent) for connection in connections] == [2, 2, 2]
    assert (rig.done[0].outcome, rig.done[0].reports) == (Outcome.SHED, ())


def test_guarantee_13_request_that_cannot_meet_its_deadline_is_shed() -> None:
    """A member that takes 100 ms per request has 0.8 s of work: a deadline of 500 ms cannot be met, 2 s can."""
    now = snapshot(member("a"), deadline_ms=5000.0)
    rig = AggregatorRig(traffic(now))
    a = rig.transport["a"]
    for _ in range(100):
        rig.admit(now)
        rig.timer.advance(0.1)
        a.send_first()
    rig.done.clear()
    for _ in range(MIN_IN_FLIGHT_FOR_ESTIMATE):
        rig.admit(now)
    asked = len(a.sent)
    rig.admit(now, 500.0)
    assert [found.outcome for found in rig.done] == [Outcome.SHED]
    assert len(a.sent) == asked
    rig.admit(now, 2000.0)
    assert len(a.sent) == asked + 1


def test_guarantee_13_request_that_was_read_after_its_deadline_is_late_not_shed() -> None:
    rig, now, connections = three()
    rig.aggregator.admit(now, ROWS, 20.0, rig.done.append, rig.timer.now_s() - 0.03)
    rig.timer.end_turn()
    assert not any(connection.sent for connection in connections)
    (found,) = rig.done
    assert found.outcome is Outcome.DEADLINE
    assert statuses(found) == [MemberStatus.LATE] * 3
    assert {connection.endpoint for connection in connections if not connection.closed} == {"a", "b", "c"}
    rig.assert_idle()


def test_guarantee_13_each_refusal_has_its_status() -> None:
    assert {outcome: kind.status for outcome, kind in REFUSALS.items()} == {
        Outcome.SHED: 429,
        Outcome.BELOW_QUORUM: 503,
        Outcome.DEADLINE: 504,
    }


# 14. Versions.


def test_guarantee_14_request_keeps_its_version_while_the_old_one_drains() -> None:
    old = snapshot(member("a"), version=1)
    new = snapshot(member("b", 1), version=2)
    rig = AggregatorRig(traffic(old))
    a = rig.transport["a"]
    rig.admit(old)
    rig.update(traffic(new))
    assert not a.closed
    a.send_first(0.75)
    assert (firsts(rig.done[0]), rig.done[0].snapshot) == ([0.75], old)
    rig.update(traffic(new))
    assert a.closed
    current = rig.aggregator.ensembles.by_id(1)
    assert current is not None and rig.aggregator.ensembles.choose(current, None) is new


def test_guarantee_14_rollback_activates_the_earlier_version() -> None:
    old, new = snapshot(member("a"), version=1), snapshot(member("b", 1), version=2)
    rig = AggregatorRig(traffic(old))
    for now, endpoint in ((new, "b"), (old, "a")):
        rig.update(traffic(now))
        rig.admit(rig.aggregator.ensembles.choose(traffic(now), None))
        rig.transport[endpoint].send_first()
        assert rig.done[-1].snapshot is now
        assert rig.done[-1].outcome is Outcome.OK


def test_guarantee_14_canary_gets_its_share_only_when_it_can_answer() -> None:
    active, canary = snapshot(member("a"), version=1), snapshot(member("b", 1), version=2)
    rig = AggregatorRig(both := traffic(active, canary, 0.25))
    picked = Counter(rig.aggregator.ensembles.choose(both, None).version for _ in range(2000))
    assert 400 < picked[2] < 600
    cold = traffic(active, snapshot(member(None, 1, state=MemberState.WARMING), version=2), 0.25)
    assert {rig.aggregator.ensembles.choose(cold, None).version for _ in range(100)} == {1}
    assert rig.aggregator.ensembles.choose(both, 2) is canary


# 15. The identities.


def test_guarantee_15_identities_hold_at_every_moment_and_in_the_metrics() -> None:
    rig, now, (a, b, c) = three(quorum=2)

    def all_of(connection: FakeConnection, requests: list[Request]) -> None:
        for request in requests:
            connection.answer(ok(request))

    steps: list[Callable[[], object]] = [
        lambda: [rig.admit(now) for _ in range(6)],
        lambda: all_of(a, a.sent[:5]),
        lambda: b.send_first(status="error", predictions=None),
        lambda: all_of(b, b.sent[:3]),
        lambda: rig.aggregator.cancel(rig.admit(now)),
        lambda: b.send_first(status="refused", predictions=None),
        lambda: c.answer(ok(c.sent[0])),
        lambda: c.send_first(status="expired", predictions=None),
        lambda: c.disconnect(),
        lambda: rig.admit(now),
        lambda: rig.timer.advance(60),
    ]
    for step in steps:
        step()
        rig.assert_identities()
        _assert_identities_on_the_page(rig)
    rig.assert_idle()
    outcomes = rig.aggregator.counts.ensembles[(1, 1)].outcomes
    assert sum(outcomes.values()) == 8
    assert [rig.counts(20).sent, rig.counts(21).sent, rig.counts(22).sent] == [8, 8, 7]


def _assert_identities_on_the_page(rig: AggregatorRig) -> None:
    text = metrics_text(rig.aggregator).decode()
    totals: Counter[str] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            totals[sample.name] += int(sample.value)
    assert totals["podium_ensemble_admitted_total"] > 0
    outcomes, in_flight = totals["podium_ensemble_requests_total"], totals["podium_ensemble_requests_in_flight"]
    assert totals["podium_ensemble_admitted_total"] == outcomes + in_flight
    replies, pending = totals["podium_member_replies_total"], totals["podium_member_pending"]
    assert totals["podium_member_sent_total"] == replies + pending


def test_guarantee_15_hedges_are_bounded_and_counted() -> None:
    rig, now, connections = in_two_processes()
    for number in range(400):
        _clear(connections)
        rig.admit(now)
        rig.timer.advance(0.010 if number % 30 else 0.050)
        for connection in connections:
            if connection.sent:
                connection.send_first()
    sent = sum(rig.counts(number).sent for number in (20, 21))
    hedges = sum(rig.counts(number).hedges for number in (20, 21))
    assert 0 < hedges <= AggregatorLimits().hedge_share * sent
    assert sent == 400 + hedges
    assert sum(rig.counts(number).dropped for number in (20, 21)) == hedges
    rig.assert_idle()
