"""The aggregator with workers whose replies are valid, invalid, late, duplicated, misaddressed, or missing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from podium.ensemble.scoring.combine import combine
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.aggregator_limits import AggregatorLimits
from podium.ensemble.serving.replica_link import ReplicaLink
from podium.ensemble.values.ensemble_snapshot import Member
from podium.ensemble.values.ensemble_spec import Mode, Rule
from podium.ensemble.values.ensemble_states import MemberState
from podium.ensemble.values.prediction import MemberStatus, Outcome, Prediction
from tests.aggregator_rig import statuses
from tests.ensemble_fakes import (
    ROWS,
    FakeWorker,
    Script,
    alternating,
    answers,
    member,
    no_reply,
    ok,
    probabilities,
    replica,
    replicated,
    snapshot,
    traffic,
)

SOON_MS = 40.0  # a deadline that a test waits out
AMPLE_MS = 1000.0  # also waited out, but late enough that the members that reply have replied
Test = Callable[..., Coroutine[Any, Any, None]]


def in_loop(test: Test) -> Callable[..., None]:
    """Run a coroutine test in its own event loop."""

    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


@contextlib.asynccontextmanager
async def joined(
    folder: Path, *scripts: Script | None, limits: AggregatorLimits | None = None, **options: Any
) -> AsyncIterator[tuple[Aggregator, list[FakeWorker]]]:
    """An aggregator connected to one worker per script; at the end no request has left any state."""
    workers = [FakeWorker(folder, number, script) for number, script in enumerate(scripts)]
    aggregator = Aggregator(limits=limits)
    aggregator.update([traffic(snapshot(*(worker.member() for worker in workers), **options))] if workers else [])
    try:
        yield aggregator, workers
        assert not aggregator.in_flight
        assert not any(link.pending for link in links(aggregator))
    finally:
        aggregator.close()
        for worker in workers:
            worker.close()
        for _ in range(5):  # turns in which connections of the last moment are closed
            await asyncio.sleep(0)


async def ask(aggregator: Aggregator, deadline_ms: float | None = None) -> Prediction:
    """Predict with the current ensemble."""
    now = aggregator.ensembles.by_id(1)
    assert now is not None
    return await aggregator.predict(now.active, ROWS, deadline_ms)


def links(aggregator: Aggregator) -> list[ReplicaLink]:
    return list(aggregator.links.by_replica.values())


@in_loop
async def test_all_members_answer(tmp_path: Path) -> None:
    async with joined(tmp_path, answers(0.2), answers(0.4), answers(0.9)) as (aggregator, _):
        found = await ask(aggregator)
    assert found.outcome is Outcome.OK
    assert found.outputs is not None and found.member_outputs is not None
    np.testing.assert_allclose(found.outputs, [[0.5, 0.5]] * 2, atol=1e-6)
    np.testing.assert_array_equal(found.member_outputs[:, 0, 0], np.array([0.2, 0.4, 0.9], np.float32))
    assert [(r.member_id, r.trial_id, r.epoch, r.status, r.queue_ms, r.compute_ms) for r in found.reports] == [
        (10 + n, 100 + n, 1, MemberStatus.OK, 1.5, 2.5) for n in range(3)
    ]
    assert sum(found.weights) == pytest.approx(1)


@in_loop
async def test_result_is_bitwise_equal_in_any_order_of_replies(tmp_path: Path) -> None:
    shares = [0.1, 0.7, 0.35]
    async with joined(tmp_path, None, None, None) as (aggregator, workers):
        found = []
        for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
            asked = asyncio.create_task(ask(aggregator))
            waiting = [await worker.requests.get() for worker in workers]
            for number in order:
                sender, request = waiting[number]
                workers[number].send(sender, ok(request, shares[number]))
            outputs = (await asked).outputs
            assert outputs is not None
            found.append(outputs.tobytes())
    assert len(set(found)) == 1
    combination = snapshot(*[member(None)] * 3).combination
    assert found[0] == combine(combination, np.concatenate([probabilities(s) for s in shares]), [0, 1, 2]).tobytes()


BAD: list[tuple[str, Script, MemberStatus, str]] = [
    ("error", alternating(status="error", message="boom", predictions=None), MemberStatus.ERROR, "boom"),
    ("expired", alternating(status="expired", predictions=None), MemberStatus.EXPIRED, ""),
    (
        "refused",
        alternating(status="refused", message="queue full", predictions=None),
        MemberStatus.REFUSED,
        "queue full",
    ),
    ("unknown status", alternating(status="fine"), MemberStatus.INVALID, ""),
    ("no predictions", alternating(predictions=None), MemberStatus.INVALID, "wrong shape"),
    (
        "another number of rows",
        alternating(predictions=probabilities(0.5, rows=3)),
        MemberStatus.INVALID,
        "wrong shape",
    ),
    ("two members", alternating(predictions=probabilities(0.5, members=2)), MemberStatus.INVALID, "wrong shape"),
    ("more classes", alternating(predictions=np.ones((1, 2, 3), np.float32)), MemberStatus.INVALID, "wrong shape"),
    ("NaN", alternating(predictions=np.full((1, 2, 2), np.nan, np.float32)), MemberStatus.INVALID, "not finite"),
    ("infinite", alternating(predictions=np.full((1, 2, 2), np.inf, np.float32)), MemberStatus.INVALID, "not finite"),
]


@pytest.mark.parametrize(("script", "status", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
@in_loop
async def test_invalid_reply_fails_only_its_member(
    tmp_path: Path, script: Script, status: MemberStatus, message: str
) -> None:
    async with joined(tmp_path, answers(0.25), script, answers(0.75)) as (aggregator, _):
        found = await ask(aggregator)
    assert found.outcome is Outcome.DEGRADED
    assert statuses(found) == [MemberStatus.OK, status, MemberStatus.OK]
    assert found.reports[1].message == message
    assert found.weights == (0.5, 0.5)
    assert found.outputs is not None
    np.testing.assert_allclose(found.outputs[:, 0], 0.5, atol=1e-6)


@in_loop
async def test_weights_renormalize_over_answering_members(tmp_path: Path) -> None:
    async with joined(tmp_path, answers(1.0), alternating(status="error"), answers(0.0)) as (aggregator, workers):
        members = [worker.member() for worker in workers]
        found = await aggregator.predict(snapshot(*members, rule=Rule.WEIGHTED, weights=(0.5, 0.4, 0.1)), ROWS)
    assert found.weights == pytest.approx((5 / 6, 1 / 6))
    assert found.outputs is not None
    np.testing.assert_allclose(found.outputs[:, 0], 5 / 6, rtol=1e-6)


IGNORED: list[tuple[str, Callable[[Any], Any], str]] = [
    ("wrong request id", lambda r: replace(ok(r), request_id=r.request_id + 1), "unknown"),
    ("stale epoch", lambda r: replace(ok(r), epoch=0), "stale_epoch"),
    ("future epoch", lambda r: replace(ok(r), epoch=2), "stale_epoch"),
    ("not a message", lambda _: [b"hello"], "garbled"),
    ("nothing", lambda _: [b""], "garbled"),
    ("a list for an id", lambda _: [b'{"request_id":[1],"epoch":1,"status":"ok","shapes":[]}'], "garbled"),
]


@pytest.mark.parametrize(("makes", "reason"), [i[1:] for i in IGNORED], ids=[i[0] for i in IGNORED])
@in_loop
async def test_reply_without_a_pending_slot_is_dropped_and_counted(
    tmp_path: Path, makes: Callable[[Any], Any], reason: str
) -> None:
    """A valid reply that follows from the same worker is accepted."""
    async with joined(tmp_path, lambda r: [makes(r), ok(r, 0.9)]) as (aggregator, _):
        found = await ask(aggregator)
        assert found.outcome is Outcome.OK
        assert found.outputs is not None and found.outputs[0, 0] == np.float32(0.9)
        assert aggregator.counts.dropped == {reason: 1}


@in_loop
async def test_second_reply_to_a_request_is_dropped(tmp_path: Path) -> None:
    async with joined(tmp_path, lambda r: [ok(r, 0.9), ok(r, 0.1)], answers()) as (aggregator, _):
        for _ in range(3):
            found = await ask(aggregator)
            assert found.member_outputs is not None and found.member_outputs[0, 0, 0] == np.float32(0.9)
        assert aggregator.counts.dropped["duplicate"] >= 2  # that of the last request may be in flight


@in_loop
async def test_late_reply_never_affects_the_next_request(tmp_path: Path) -> None:
    async with joined(tmp_path, None) as (aggregator, (worker,)):
        late = await ask(aggregator, SOON_MS)
        assert (late.outcome, statuses(late)) == (Outcome.DEADLINE, [MemberStatus.LATE])
        sender, first = await worker.requests.get()
        following = asyncio.create_task(ask(aggregator))
        _, second = await worker.requests.get()
        assert second.request_id != first.request_id
        worker.send(sender, ok(first, 0.1))
        worker.send(sender, ok(second, 0.9))
        found = await following
        assert found.outputs is not None and found.outputs[0, 0] == np.float32(0.9)
        assert aggregator.counts.dropped == {"late": 1}


@in_loop
async def test_replies_in_another_order_are_matched_to_their_requests(tmp_path: Path) -> None:
    async with joined(tmp_path, None) as (aggregator, (worker,)):
        asked = [asyncio.create_task(ask(aggregator)) for _ in range(5)]
        waiting = [await worker.requests.get() for _ in asked]
        assert len({request.request_id for _, request in waiting}) == 5
        for index in (3, 0, 4, 2, 1):
            sender, request = waiting[index]
            worker.send(sender, ok(request, index / 8))
        found = [await task for task in asked]
        assert [f.outputs is not None and float(f.outputs[0, 0]) for f in found] == [n / 8 for n in range(5)]


@in_loop
async def test_silent_member_costs_at_most_the_deadline(tmp_path: Path) -> None:
    async with joined(tmp_path, answers(), no_reply) as (aggregator, (_, mute)):
        found = await ask(aggregator, AMPLE_MS)
        assert found.outcome is Outcome.DEGRADED
        assert statuses(found) == [MemberStatus.OK, MemberStatus.LATE]
        assert found.deadline_ms == AMPLE_MS
        _, request = mute.requests.get_nowait()
        assert 0 < request.left_ms <= AMPLE_MS


@pytest.mark.parametrize(
    ("scripts", "quorum", "outcome"),
    [
        ((answers(), answers(), alternating(status="error")), 3, Outcome.BELOW_QUORUM),
        ((answers(), no_reply, no_reply), 2, Outcome.BELOW_QUORUM),
        ((alternating(status="error"), alternating(status="error")), 1, Outcome.BELOW_QUORUM),
        ((alternating(status="error"), no_reply), 1, Outcome.DEADLINE),
        ((no_reply, no_reply), 1, Outcome.DEADLINE),
        ((answers(), no_reply, no_reply), 1, Outcome.DEGRADED),
    ],
)
@in_loop
async def test_fewer_than_the_quorum_returns_only_member_states(
    tmp_path: Path, scripts: tuple[Script, ...], quorum: int, outcome: Outcome
) -> None:
    async with joined(tmp_path, *scripts, quorum=quorum) as (aggregator, _):
        found = await ask(aggregator, AMPLE_MS)
    assert found.outcome is outcome
    assert len(found.reports) == len(scripts)
    assert (found.outputs is None) == (found.member_outputs is None) == (outcome is not Outcome.DEGRADED)


@in_loop
async def test_deadline_is_capped_at_that_of_the_ensemble(tmp_path: Path) -> None:
    async with joined(tmp_path, no_reply, deadline_ms=SOON_MS) as (aggregator, _):
        assert (await ask(aggregator, 60_000.0)).deadline_ms == SOON_MS


@pytest.mark.parametrize("state", [s for s in MemberState if s is not MemberState.READY])
@in_loop
async def test_member_that_is_not_ready_is_not_waited_for(tmp_path: Path, state: MemberState) -> None:
    async with joined(tmp_path, answers()) as (aggregator, (worker,)):
        away = member("unix:/nowhere", 1, state=state)
        aggregator.update([traffic(snapshot(worker.member(), away))])
        found = await ask(aggregator)
        assert statuses(found) == [MemberStatus.OK, MemberStatus.UNAVAILABLE]
        assert (found.outcome, found.reports[1].message) == (Outcome.DEGRADED, state.value)


@in_loop
async def test_ensemble_without_ready_members_is_reported_immediately(tmp_path: Path) -> None:
    async with joined(tmp_path) as (aggregator, _):
        found = await aggregator.predict(snapshot(member(None), deadline_ms=600_000.0), ROWS)
    assert (found.outcome, statuses(found)) == (Outcome.BELOW_QUORUM, [MemberStatus.UNAVAILABLE])


def _gone(workers: list[FakeWorker]) -> list[Member]:
    return [workers[0].member(), member(None, 1, state=MemberState.RESTARTING)]


def _restarted(workers: list[FakeWorker]) -> list[Member]:
    return [workers[0].member(), member(workers[1].endpoint, 1, epoch=2)]


@pytest.mark.parametrize("now", [_gone, _restarted])
@in_loop
async def test_death_completes_pending_requests_before_the_deadline(
    tmp_path: Path, now: Callable[[list[FakeWorker]], list[Member]]
) -> None:
    async with joined(tmp_path, answers(0.8), no_reply, deadline_ms=600_000.0) as (aggregator, workers):
        asked = asyncio.create_task(ask(aggregator))
        await workers[1].requests.get()
        aggregator.update([traffic(snapshot(*now(workers)))])
        found = await asked
        assert statuses(found) == [MemberStatus.OK, MemberStatus.DIED]
        assert found.outcome is Outcome.DEGRADED


@in_loop
async def test_absent_worker_is_late_until_the_host_reports_its_death(tmp_path: Path) -> None:
    aggregator = Aggregator()
    aggregator.update([traffic(snapshot(member(f"unix:{tmp_path / 'nobody'}"), deadline_ms=30.0))])
    found = await ask(aggregator)
    aggregator.close()
    assert (found.outcome, statuses(found)) == (Outcome.DEADLINE, [MemberStatus.LATE])


@in_loop
async def test_in_graph_reply_covers_all_members_and_keeps_its_combination(tmp_path: Path) -> None:
    combined = np.array([[0.3, 0.7]] * 2, np.float32)  # not the mean, so that its origin is visible
    script: Script = lambda r: [replace(ok(r, 0.5, members=3), combined=combined)]  # noqa: E731
    async with joined(tmp_path, script) as (aggregator, (worker,)):
        members = [replicated(n, replica(worker.endpoint)) for n in range(3)]
        found = await aggregator.predict(snapshot(*members, mode=Mode.IN_GRAPH, quorum=2), ROWS)
        assert worker.requests.qsize() == 1
    assert (found.outcome, found.answered) == (Outcome.OK, 3)
    assert found.member_outputs is not None
    np.testing.assert_array_equal(found.member_outputs, probabilities(0.5, members=3, rows=2))
    np.testing.assert_array_equal(found.outputs, combined)


IN_GRAPH: list[tuple[str, dict[str, Any]]] = [
    ("a member short", {"predictions": probabilities(0.5, members=2)}),
    ("a combination of another shape", {"combined": np.ones((1, 2), np.float32)}),
]


@pytest.mark.parametrize("changes", [i[1] for i in IN_GRAPH], ids=[i[0] for i in IN_GRAPH])
@in_loop
async def test_in_graph_reply_of_the_wrong_shape_is_invalid_for_every_member(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    sound = {"predictions": probabilities(0.5, members=3), "combined": np.full((2, 2), 0.5, np.float32)}
    async with joined(tmp_path, alternating(**{**sound, **changes})) as (aggregator, (worker,)):
        members = [replicated(n, replica(worker.endpoint)) for n in range(3)]
        found = await aggregator.predict(snapshot(*members, mode=Mode.IN_GRAPH), ROWS)
    assert (found.outcome, statuses(found)) == (Outcome.BELOW_QUORUM, [MemberStatus.INVALID] * 3)


@in_loop
async def test_in_graph_failure_of_one_member_leaves_the_others_combined(tmp_path: Path) -> None:
    predictions = np.concatenate([probabilities(0.2), probabilities(0.5), probabilities(np.nan), probabilities(0.6)])
    script = alternating(predictions=predictions, failed={"1": "out of memory"})
    async with joined(tmp_path, script) as (aggregator, (worker,)):
        members = [replicated(n, replica(worker.endpoint)) for n in range(4)]
        found = await aggregator.predict(snapshot(*members, mode=Mode.IN_GRAPH, quorum=2), ROWS)
    assert (found.outcome, found.answered_positions) == (Outcome.DEGRADED, (0, 3))
    assert statuses(found) == [MemberStatus.OK, MemberStatus.ERROR, MemberStatus.INVALID, MemberStatus.OK]
    assert found.reports[1].message == "out of memory"
    assert found.outputs is not None
    np.testing.assert_allclose(found.outputs[:, 0], 0.4, atol=1e-6)


@in_loop
async def test_in_graph_nonfinite_combination_is_recomputed(tmp_path: Path) -> None:
    script = alternating(predictions=probabilities(0.5, members=3), combined=np.full((2, 2), np.nan, np.float32))
    async with joined(tmp_path, script) as (aggregator, (worker,)):
        members = [replicated(n, replica(worker.endpoint)) for n in range(3)]
        found = await aggregator.predict(snapshot(*members, mode=Mode.IN_GRAPH), ROWS)
    assert found.outcome is Outcome.OK
    assert found.outputs is not None
    np.testing.assert_allclose(found.outputs, 0.5, atol=1e-6)
