"""The requests of one turn of the event loop are one message to each member, and stay independent of each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.ensemble.protocol.prediction_messages import MAX_ITEMS, Request, pack_requests, unpack_requests
from podium.ensemble.protocol.prediction_messages import ReplyBundle as Bundle
from podium.ensemble.serving import aggregator
from podium.ensemble.serving.aggregator_limits import AggregatorLimits
from podium.ensemble.serving.pending_request import PendingRequest
from podium.ensemble.serving.prediction_from_replies import join
from podium.ensemble.values.ensemble_snapshot import Snapshot
from podium.ensemble.values.ensemble_spec import Rule
from podium.ensemble.values.prediction import MemberStatus, Outcome, Prediction
from tests.aggregator_rig import AggregatorRig, FakeConnection, statuses
from tests.ensemble_fakes import FEATURES, member, replica, replicated, snapshot, traffic

WIDE = AggregatorLimits(requests=20_000, replica_requests=20_000)


def three(limits: AggregatorLimits | None = None, rule: Rule = Rule.WEIGHTED) -> tuple[AggregatorRig, Snapshot]:
    now = snapshot(
        member("a"), member("b", 1), member("c", 2), quorum=2, weights=(0.5, 0.3, 0.2), rule=rule, deadline_ms=1000.0
    )
    return AggregatorRig(traffic(now), limits=limits), now


def rows(count: int, seed: int = 0) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(seed).random((count, FEATURES), dtype=np.float32)


def answer_together(
    connection: FakeConnection, requests: Sequence[Request], status: str = "ok", *, missing_rows: int = 0
) -> None:
    """One message with the replies to these requests; the first column of each prediction is that of its input."""
    first = np.concatenate([request.inputs for request in requests])[:, 0]
    predictions = np.stack([first, 1 - first], axis=-1)[None, missing_rows:]
    bundle = Bundle(
        1,
        status,
        [request.request_id for request in requests],
        [len(request.inputs) if status == "ok" else 0 for request in requests],
        [1.0] * len(requests),
        predictions=predictions if status == "ok" else None,
    )
    connection.answer([bytes(frame) for frame in bundle.frames()])


def test_requests_of_one_turn_are_one_message_to_each_member() -> None:
    rig, now = three()
    pending = [rig.queue(now, inputs=rows(1 + number)) for number in range(5)]
    connections = rig.connections("a", "b", "c")
    assert all(not connection.sent for connection in connections)
    rig.timer.end_turn()
    for connection in connections:
        assert connection.bundles == [5]
        assert [request.request_id for request in connection.sent] == [each.request_id for each in pending]
        for request, each in zip(connection.sent, pending, strict=True):
            np.testing.assert_array_equal(request.inputs, each.inputs)
    rig.admit(now)
    assert all(connection.bundles == [5, 1] for connection in connections)


def test_requests_of_different_ensembles_and_widths_are_not_mixed() -> None:
    narrow = snapshot(member("a"), ensemble_id=1)
    wide = snapshot(member("b", 1), ensemble_id=2)
    rig = AggregatorRig(traffic(narrow), traffic(wide))
    rig.queue(narrow, inputs=rows(1))
    rig.queue(wide, inputs=rows(2))
    rig.queue(narrow, inputs=np.zeros((3, 5), np.float32))
    rig.queue(narrow, inputs=rows(4))
    rig.timer.end_turn()
    a, b = rig.connections("a", "b")
    assert (a.bundles, b.bundles) == ([2, 1], [1])
    assert [request.inputs.shape for request in a.sent] == [(1, 3), (4, 3), (3, 5)]


def test_message_is_split_at_its_maximum_of_requests() -> None:
    rig, now = three(WIDE)
    for _ in range(MAX_ITEMS + 3):
        rig.queue(now, inputs=rows(1))
    rig.timer.end_turn()
    assert [connection.bundles for connection in rig.connections("a", "b", "c")] == [[MAX_ITEMS, 3]] * 3
    rig.aggregator.close()
    rig.assert_idle()


def test_requests_of_one_message_are_answered_independently() -> None:
    """Replies that come one by one, repeated and in another order complete each request with its own rows."""
    rig, now = three()
    for number in range(3):
        rig.queue(now, inputs=rows(2, number))
    rig.timer.end_turn()
    for connection in rig.connections("c", "a", "b"):
        sent = list(connection.sent)
        answer_together(connection, [sent[2]])
        answer_together(connection, [sent[0], sent[1]])
        answer_together(connection, sent)
    assert [found.outcome for found in rig.done] == [Outcome.OK] * 3
    for found, number in zip(rig.done, (2, 0, 1), strict=True):
        assert found.outputs is not None
        np.testing.assert_allclose(found.outputs[:, 0], rows(2, number)[:, 0], rtol=1e-6)
    assert rig.aggregator.counts.dropped == {"duplicate": 9}
    rig.assert_idle()


def test_outcome_that_cannot_be_delivered_does_not_affect_the_others_of_the_message() -> None:
    rig, now = three()

    def fail(_: Prediction) -> None:
        raise RuntimeError("the connection is closed")

    rig.queue(now)
    rig.aggregator.admit(now, rows(1), None, fail)
    rig.queue(now)
    rig.timer.end_turn()
    for connection in rig.connections("a", "b", "c"):
        answer_together(connection, list(connection.sent))
    assert [found.outcome for found in rig.done] == [Outcome.OK] * 2
    rig.assert_idle()


def test_request_that_one_member_rejects_does_not_affect_the_others_of_the_message() -> None:
    rig, now = three()
    for number in range(3):
        rig.queue(now, inputs=rows(1, number))
    rig.timer.end_turn()
    a, b, c = rig.connections("a", "b", "c")
    answer_together(a, [a.sent[1]], "error")
    answer_together(a, [a.sent[0], a.sent[2]])
    answer_together(b, b.sent)
    answer_together(c, c.sent)
    assert [found.outcome for found in rig.done] == [Outcome.OK, Outcome.DEGRADED, Outcome.OK]
    assert statuses(rig.done[1]) == [MemberStatus.ERROR, MemberStatus.OK, MemberStatus.OK]
    rig.assert_idle()


def test_reply_message_with_a_row_too_few_is_invalid_for_each_request() -> None:
    rig, now = three()
    for number in range(2):
        rig.queue(now, inputs=rows(2, number))
    rig.timer.end_turn()
    a, b, c = rig.connections("a", "b", "c")
    answer_together(a, a.sent, missing_rows=1)
    answer_together(b, b.sent)
    answer_together(c, c.sent)
    assert [statuses(found)[0] for found in rig.done] == [MemberStatus.INVALID] * 2
    assert [found.outcome for found in rig.done] == [Outcome.DEGRADED] * 2


def test_nonfinite_rows_fail_only_their_own_request() -> None:
    rig, now = three()
    rig.queue(now, inputs=rows(1))
    rig.queue(now, inputs=np.full((1, FEATURES), np.inf, np.float32))
    rig.timer.end_turn()
    for connection in rig.connections("a", "b", "c"):
        answer_together(connection, connection.sent)
    assert [found.outcome for found in rig.done] == [Outcome.OK, Outcome.BELOW_QUORUM]
    assert statuses(rig.done[1]) == [MemberStatus.INVALID] * 3


def test_message_that_cannot_be_sent_ends_each_of_its_requests() -> None:
    rig, now = three()
    a, b, c = rig.connections("a", "b", "c")
    a.full = True
    for number in range(2):
        rig.queue(now, inputs=rows(1, number))
    rig.timer.end_turn()
    answer_together(b, b.sent)
    answer_together(c, c.sent)
    assert [statuses(found)[0] for found in rig.done] == [MemberStatus.QUEUE_FULL] * 2
    assert (rig.counts(20).sent, rig.counts(20).skipped) == (0, 2)
    rig.assert_idle()


def test_message_that_cannot_be_sent_goes_to_another_replica() -> None:
    now = snapshot(replicated(0, replica("a", 20), replica("b", 21)))
    rig = AggregatorRig(traffic(now))
    a, b = rig.connections("a", "b")
    a.full = b.full = True
    b.full = False
    for number in range(4):
        rig.queue(now, inputs=rows(1, number))
    rig.timer.end_turn()
    assert a.sent == [] and len(b.sent) == 4  # half of them at once, the others as soon as the first replica refused
    answer_together(b, b.sent)
    assert [found.outcome for found in rig.done] == [Outcome.OK] * 4
    rig.assert_idle()


@pytest.mark.parametrize(
    ("status", "expected"), [("refused", MemberStatus.REFUSED), ("died", MemberStatus.DIED)], ids=str
)
def test_call_whose_retry_cannot_be_sent_has_the_status_of_the_replica_that_failed(
    status: str, expected: MemberStatus
) -> None:
    now = snapshot(replicated(0, replica("a", 20), replica("b", 21)))
    rig = AggregatorRig(traffic(now))
    a, b = rig.connections("a", "b")
    b.full = True
    rig.admit(now)
    if status == "died":
        a.disconnect()
    else:
        a.send_first(status=status, predictions=None)
    assert [statuses(found) for found in rig.done] == [[expected]]
    assert rig.counts(21).skipped == 1
    rig.assert_idle()


def test_replica_that_dies_before_the_message_is_sent_is_not_waited_for() -> None:
    rig, now = three()
    a, b, c = rig.connections("a", "b", "c")
    for _ in range(2):
        rig.queue(now, inputs=rows(1))
    a.disconnect()
    assert a.sent == [] and [b.bundles, c.bundles] == [[2], [2]]
    answer_together(b, b.sent)
    answer_together(c, c.sent)
    assert [statuses(found)[0] for found in rig.done] == [MemberStatus.UNAVAILABLE] * 2
    assert rig.counts(20).sent == 0
    rig.assert_idle()


def test_request_cancelled_before_the_message_is_sent_is_not_in_it() -> None:
    rig, now = three()
    kept = rig.queue(now, inputs=rows(1))
    rig.aggregator.cancel(rig.queue(now, inputs=rows(1)))
    rig.timer.end_turn()
    for connection in rig.connections("a", "b", "c"):
        assert [request.request_id for request in connection.sent] == [kept.request_id]
        answer_together(connection, connection.sent)
    assert rig.counts(20).sent == 1
    rig.assert_idle()


def test_request_that_expires_before_the_message_is_sent_is_not_in_it() -> None:
    """The loop was blocked for longer than the deadline."""
    rig, now = three()
    hurried, patient = rig.queue(now, 5.0, rows(1)), rig.queue(now, 500.0, rows(1))
    rig.timer.stall(0.1)
    rig.aggregator.expire(hurried)
    rig.timer.end_turn()
    (a,) = rig.connections("a")
    assert [request.request_id for request in a.sent] == [patient.request_id]
    assert rig.done[0].outcome is Outcome.DEADLINE
    assert (rig.counts(20).sent, rig.counts(20).late) == (1, 0)


def test_remaining_time_is_that_at_the_sending() -> None:
    rig, now = three()
    rig.queue(now, 400.0, rows(1))
    rig.timer.stall(0.1)
    rig.queue(now, 400.0, rows(1))
    rig.timer.end_turn()
    (a,) = rig.connections("a")
    assert [request.left_ms for request in a.sent] == pytest.approx([300.0, 400.0])


def test_queued_requests_count_towards_the_limits() -> None:
    rig, now = three(AggregatorLimits(requests=3))
    for _ in range(4):
        rig.queue(now, inputs=rows(1))
    assert [found.outcome for found in rig.done] == [Outcome.SHED]
    rig.aggregator.close()
    rig.timer.end_turn()  # sends nothing
    rig.assert_idle()


def test_callback_of_one_answer_may_cancel_another_of_the_same_message() -> None:
    rig, now = three()
    done: list[Prediction] = []
    second = rig.queue(now, inputs=rows(1))

    def cancel_the_other(found: Prediction) -> None:
        done.append(found)
        rig.aggregator.cancel(second)

    rig.aggregator.cancel(second)
    second = rig.aggregator.admit(now, rows(1), None, cancel_the_other)
    rig.queue(now, inputs=rows(1))
    rig.timer.end_turn()
    for connection in rig.connections("a", "b", "c"):
        answer_together(connection, connection.sent)
    assert len(done) == 1 and len(rig.done) == 1
    rig.assert_idle()


@pytest.mark.parametrize("rule", [Rule.MEAN, Rule.WEIGHTED, Rule.LOGIT_MEAN, Rule.MEDIAN, Rule.HARD_VOTE])
@given(sizes=st.lists(st.integers(1, 5), min_size=2, max_size=6), seed=st.integers(0, 2**16))
def test_requests_combined_together_have_the_bits_of_each_alone(rule: Rule, sizes: list[int], seed: int) -> None:
    together, now = three(rule=rule)
    alone, _ = three(rule=rule)
    for number, size in enumerate(sizes):
        together.queue(now, inputs=rows(size, seed + number))
        alone.admit(now, inputs=rows(size, seed + number))
    together.timer.end_turn()
    for name in "abc":
        answer_together(together.transport[name], together.transport[name].sent)
        for request in alone.transport[name].sent:
            answer_together(alone.transport[name], [request])
    for one, other in zip(together.done, alone.done, strict=True):
        assert one.outputs is not None and other.outputs is not None
        assert one.outputs.tobytes() == other.outputs.tobytes()
        assert one.member_outputs is not None and other.member_outputs is not None
        assert one.member_outputs.tobytes() == other.member_outputs.tobytes()
        first, second = one.uncertainty(), other.uncertainty()
        for name in ("entropy", "mutual_information", "variance", "disagreement"):
            mine, theirs = getattr(first, name), getattr(second, name)
            assert (mine is None) == (theirs is None)
            assert mine is None or mine.tobytes() == theirs.tobytes()


def test_rows_are_packed_once_for_members_that_get_the_same_requests() -> None:
    """A message of one request holds the request's own memory; several are concatenated once."""
    inputs = rows(2)
    _, packed = pack_requests([Request(1, 1, 1.0, inputs)])
    assert np.shares_memory(np.frombuffer(packed, np.float32), inputs)
    both = np.concatenate([inputs, inputs])
    header, packed = pack_requests([Request(1, 1, 1.0, inputs), Request(2, 1, 1.0, inputs)], both)
    assert np.shares_memory(np.frombuffer(packed, np.float32), both)
    assert len(unpack_requests([bytes(header), bytes(packed)])) == 2


def test_request_whose_replies_cannot_be_combined_affects_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    rig, now = three()
    bad = rig.queue(now, inputs=rows(1))
    rig.queue(now, inputs=rows(1, seed=1))
    rig.timer.end_turn()

    def failing(answered: Sequence[PendingRequest], now_s: float) -> list[Prediction]:
        if bad in answered:
            raise MemoryError
        return join(answered, now_s)

    monkeypatch.setattr(aggregator, "join", failing)
    for connection in rig.connections("a", "b", "c"):
        answer_together(connection, connection.sent)
    assert [found.outcome for found in rig.done] == [Outcome.BELOW_QUORUM, Outcome.OK]
    rig.assert_idle()
