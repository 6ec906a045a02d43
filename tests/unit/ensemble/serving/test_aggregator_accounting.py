"""State and counters of the aggregator: nothing leaks, and outcomes add up to the admitted requests."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

from podium.ensemble.protocol.framing import unix_endpoint
from podium.ensemble.protocol.prediction_messages import Request
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.aggregator_limits import AggregatorLimits
from podium.ensemble.serving.pending_request import PendingRequest
from podium.ensemble.values.ensemble_spec import Mode
from podium.ensemble.values.prediction import MemberStatus, Outcome, Prediction
from tests.aggregator_rig import AggregatorRig, statuses
from tests.ensemble_fakes import (
    ROWS,
    FakeWorker,
    Script,
    alternating,
    answers,
    member,
    no_reply,
    ok,
    replica,
    replicated,
    snapshot,
    traffic,
)
from tests.unit.ensemble.serving.test_aggregator import SOON_MS, ask, in_loop, joined, links


def outcomes(aggregator: Aggregator) -> Counter[Outcome]:
    return +Counter(aggregator.counts.ensembles[(1, 1)].outcomes)


@in_loop
async def test_cancelled_request_frees_everything(tmp_path: Path) -> None:
    async with joined(tmp_path, no_reply, no_reply) as (aggregator, workers):
        asked = [asyncio.create_task(ask(aggregator)) for _ in range(3)]
        for worker in workers:
            for _ in asked:
                await worker.requests.get()
        assert aggregator.in_flight == 3
        assert [link.pending for link in links(aggregator)] == [3, 3]
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        assert aggregator.in_flight == 0
        assert [link.pending for link in links(aggregator)] == [0, 0]
        assert outcomes(aggregator) == {Outcome.CANCELLED: 3}


@in_loop
async def test_request_above_the_in_flight_limit_is_shed(
    tmp_path: Path,
) -> None:
    async with joined(tmp_path, None, limits=AggregatorLimits(requests=2)) as (aggregator, (worker,)):
        asked = [asyncio.create_task(ask(aggregator)) for _ in range(2)]
        waiting = [await worker.requests.get() for _ in asked]
        shed = await ask(aggregator)
        assert (shed.outcome, shed.reports, shed.outputs) == (Outcome.SHED, (), None)
        assert worker.requests.empty()
        for sender, request in waiting:
            worker.send(sender, ok(request))
        assert [(await task).outcome for task in asked] == [Outcome.OK, Outcome.OK]
        assert outcomes(aggregator) == {Outcome.SHED: 1, Outcome.OK: 2}


@in_loop
async def test_outcomes_add_up_to_the_admitted_requests(tmp_path: Path) -> None:
    """Many requests to workers that randomly reply, fail or stay silent; some clients disconnect."""
    random = Random(5)

    def fickle(request: Request) -> list[object]:
        return [[], [ok(request)], [ok(request), ok(request)], [[b"?"]]][random.randrange(4)]  # type: ignore[return-value]

    script: Script = fickle  # type: ignore[assignment]
    async with joined(tmp_path, script, script, alternating(status="error"), quorum=1) as (aggregator, _):
        asked = [asyncio.create_task(ask(aggregator, 5 * SOON_MS)) for _ in range(60)]
        await asyncio.sleep(0)
        assert [each.result() for each in asked if each.done()] == []
        assert aggregator.in_flight == 60
        for task in random.sample(asked, 10):
            task.cancel()
        found = await asyncio.gather(*asked, return_exceptions=True)
        seen = Counter(f.outcome for f in found if not isinstance(f, BaseException))
        assert outcomes(aggregator) == seen + Counter({Outcome.CANCELLED: 10})
        assert outcomes(aggregator).total() == 60


@in_loop
async def test_request_in_flight_keeps_its_members(tmp_path: Path) -> None:
    async with joined(tmp_path, None, None) as (aggregator, (first, second)):
        aggregator.update([traffic(snapshot(first.member()))])
        asked = asyncio.create_task(ask(aggregator))
        sender, request = await first.requests.get()
        aggregator.update([traffic(snapshot(first.member(), second.member(), weights=(0.9, 0.1)))])
        first.send(sender, ok(request, 0.75))
        found = await asked
        assert statuses(found) == [MemberStatus.OK]
        assert found.outcome is Outcome.OK
        assert second.requests.empty()


@in_loop
async def test_removed_ensemble_is_unknown_and_its_links_are_closed(tmp_path: Path) -> None:
    async with joined(tmp_path, answers()) as (aggregator, _):
        aggregator.update([])
        assert aggregator.ensembles.by_id(1) is None
        assert links(aggregator) == []


@in_loop
async def test_worker_in_two_ensembles_has_one_link(tmp_path: Path) -> None:
    async with joined(tmp_path, answers()) as (aggregator, (worker,)):
        both = [snapshot(worker.member(), ensemble_id=n) for n in (1, 2)]
        aggregator.update(map(traffic, both))
        assert len(links(aggregator)) == 1
        assert [(await aggregator.predict(each, ROWS)).outcome for each in both] == [Outcome.OK] * 2


@in_loop
async def test_restarted_worker_gets_a_new_link(tmp_path: Path) -> None:
    async with joined(tmp_path, no_reply) as (aggregator, (old,)):
        waiting = asyncio.create_task(ask(aggregator))
        await old.requests.get()
        new = FakeWorker(tmp_path, script=answers(0.9), epoch=2)
        aggregator.update([traffic(snapshot(new.member()))])
        assert statuses(await waiting) == [MemberStatus.DIED]
        found = await ask(aggregator)
        assert (found.outcome, found.reports[0].epoch) == (Outcome.OK, 2)
        assert new.requests.qsize() == 1  # the new worker received no old request
        new.close()


@in_loop
async def test_request_ids_differ_between_aggregators(tmp_path: Path) -> None:
    seen = set()
    for _ in range(3):
        async with joined(tmp_path, answers()) as (aggregator, (worker,)):
            for _ in range(4):
                await ask(aggregator)
                seen.add(worker.requests.get_nowait()[1].request_id)
    assert len(seen) == 12


@in_loop
async def test_full_queue_is_reported_for_its_member_and_blocks_no_other(tmp_path: Path) -> None:
    """A worker that reads nothing: its queue fills with large requests, and the other worker still replies."""
    with socket.socket(socket.AF_UNIX) as stuck:
        stuck.bind(str(tmp_path / "stuck"))
        stuck.listen()
        async with joined(tmp_path, answers()) as (aggregator, (worker,)):
            now = snapshot(worker.member(), member(unix_endpoint(tmp_path / "stuck"), 1))
            aggregator.update([traffic(now)])
            large = np.zeros((4096, 3), np.float32)
            asked = [aggregator.predict(now, large, 1000.0) for _ in range(300)]
            found = await asyncio.gather(*asked)
            assert {statuses(f)[1] for f in found} == {MemberStatus.LATE, MemberStatus.QUEUE_FULL}
            assert MemberStatus.OK in {statuses(f)[0] for f in found}


@in_loop
async def test_cancellation_at_the_moment_of_the_answer_does_not_affect_others() -> None:
    """Its future is cancelled before the aggregator is notified: the other answers must still be delivered."""
    rig = AggregatorRig(traffic(now := snapshot(member("a"))))
    asked = [rig.aggregator.predict(now, ROWS) for _ in range(3)]
    rig.timer.end_turn()
    asked[0].cancel()
    rig.transport["a"].disconnect()
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(found[0], asyncio.CancelledError)
    assert [statuses(f) for f in found[1:] if isinstance(f, Prediction)] == [[MemberStatus.DIED]] * 2
    rig.assert_idle()


def test_callback_on_a_death_may_cancel_other_requests() -> None:
    rig = AggregatorRig(traffic(now := snapshot(member("a"), member("b", 1))))
    others: list[PendingRequest] = []
    rig.aggregator.admit(now, ROWS, None, lambda _: rig.aggregator.cancel(others.pop()))
    others.append(rig.admit(now))
    b = rig.transport["b"]
    for request in b.sent:
        b.answer(ok(request))
    rig.transport["a"].disconnect()
    assert rig.done == []
    assert outcomes(rig.aggregator) == {Outcome.DEGRADED: 1, Outcome.CANCELLED: 1}
    rig.assert_idle()


def test_callback_on_an_answer_may_admit_a_request() -> None:
    rig = AggregatorRig(traffic(now := snapshot(member("a"))))

    def again(_: Prediction) -> None:
        rig.admit(now)

    rig.aggregator.admit(now, ROWS, None, again)
    rig.timer.end_turn()
    for _ in range(2):
        rig.transport["a"].send_first()
    assert [prediction.outcome for prediction in rig.done] == [Outcome.OK]
    rig.assert_idle()


@pytest.mark.parametrize("mode", [Mode.BETWEEN_GRAPH, Mode.IN_GRAPH])
def test_no_replica_takes_over_during_close(mode: Mode) -> None:
    """Requests of a closed replica are not sent to one that is closed too (`FakeConnection` would raise)."""
    replicas = [replica(name, 20 + number) for number, name in enumerate("abc")]
    rig = AggregatorRig(traffic(now := snapshot(replicated(0, *replicas), mode=mode)))
    for _ in range(6):
        rig.admit(now)
    rig.aggregator.close()
    assert [statuses(found) for found in rig.done] == [[MemberStatus.DIED]] * 6
    assert all(connection.closed for connection in rig.transport.connections)
    assert rig.transport.closed
    rig.assert_idle()
    rig.admit(now)
    assert statuses(rig.done[-1]) == [MemberStatus.UNAVAILABLE]


def test_request_goes_to_another_replica_when_one_is_full() -> None:
    replicas = [replica(name, 20 + number) for number, name in enumerate("ab")]
    rig = AggregatorRig(traffic(now := snapshot(replicated(0, *replicas))))
    rig.transport["a"].full = True
    rig.admit(now)
    rig.transport["b"].send_first()
    assert rig.done[0].outcome is Outcome.OK


def test_removed_version_leaves_no_counters() -> None:
    """For any number of versions; the counters of a draining version stay until it has drained."""
    rig = AggregatorRig()
    for version in range(1, 50):
        now = snapshot(replicated(0, replica(f"w{version}", 20 + version)), version=version)
        rig.update(traffic(now))
        rig.admit(now)
        if version % 2:
            rig.transport[f"w{version}"].send_first()
    assert len(rig.aggregator.counts.members) <= 26
    rig.timer.advance(60)
    rig.update(traffic(now))
    assert set(rig.aggregator.counts.members) == {69}
    assert set(rig.aggregator.counts.ensembles) == {(1, 49)}
    assert sum(not connection.closed for connection in rig.transport.connections) == 1
    rig.assert_idle()
