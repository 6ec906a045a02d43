"""What the aggregator holds and counts: nothing stays behind, and outcomes sum to what was admitted."""

from __future__ import annotations

import asyncio
import select
import threading
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
import zmq

from podium.ensemble.protocol.wire import Request
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.aggregator_limits import AggregatorLimits
from podium.ensemble.serving.pending_request import PendingRequest
from podium.ensemble.serving.transport import _ZmqConnection
from podium.ensemble.values.ensemble_spec import Mode
from podium.ensemble.values.prediction import MemberStatus, Outcome, Prediction
from tests.aggregator_rig import AggregatorRig, statuses
from tests.ensemble_fakes import (
    ROWS,
    FakeWorker,
    Script,
    alters,
    answers,
    member,
    ok,
    replica,
    replicated,
    silent,
    snapshot,
    traffic,
)
from tests.unit.ensemble.serving.test_aggregator import SOON_MS, ask, in_loop, joined, links


def outcomes(aggregator: Aggregator) -> Counter[Outcome]:
    return +Counter(aggregator.counts.ensembles[(1, 1)].outcomes)


@in_loop
async def test_a_client_that_leaves_frees_everything(tmp_path: Path) -> None:
    async with joined(tmp_path, silent, silent) as (aggregator, workers):
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
async def test_above_the_limit_of_requests_under_way_the_next_is_shed(
    tmp_path: Path,
) -> None:
    async with joined(tmp_path, None, limits=AggregatorLimits(requests=2)) as (aggregator, (worker,)):
        asked = [asyncio.create_task(ask(aggregator)) for _ in range(2)]
        waiting = [await worker.requests.get() for _ in asked]
        shed = await ask(aggregator)
        assert (shed.outcome, shed.reports, shed.outputs) == (Outcome.SHED, (), None)
        assert worker.requests.empty()
        for sender, request in waiting:
            await worker.send(sender, ok(request))
        assert [(await task).outcome for task in asked] == [Outcome.OK, Outcome.OK]
        assert outcomes(aggregator) == {Outcome.SHED: 1, Outcome.OK: 2}


@in_loop
async def test_outcomes_sum_to_what_was_admitted(tmp_path: Path) -> None:
    """A crowd of requests on workers that answer, fail and keep silent by chance, some given up by their clients."""
    random = Random(5)

    def fickle(request: Request) -> list[object]:
        return [[], [ok(request)], [ok(request), ok(request)], [[b"?"]]][random.randrange(4)]  # type: ignore[return-value]

    script: Script = fickle  # type: ignore[assignment]
    async with joined(tmp_path, script, script, alters(status="error"), quorum=1) as (aggregator, _):
        asked = [asyncio.create_task(ask(aggregator, SOON_MS)) for _ in range(60)]
        await asyncio.sleep(0)
        assert aggregator.in_flight == 60
        for task in random.sample(asked, 10):
            task.cancel()
        found = await asyncio.gather(*asked, return_exceptions=True)
        seen = Counter(f.outcome for f in found if not isinstance(f, BaseException))
        assert outcomes(aggregator) == seen + Counter({Outcome.CANCELLED: 10})
        assert outcomes(aggregator).total() == 60


@in_loop
async def test_a_request_under_way_keeps_the_members_it_was_admitted_with(tmp_path: Path) -> None:
    async with joined(tmp_path, None, None) as (aggregator, (first, second)):
        aggregator.update([traffic(snapshot(first.member()))])
        asked = asyncio.create_task(ask(aggregator))
        sender, request = await first.requests.get()
        aggregator.update([traffic(snapshot(first.member(), second.member(), weights=(0.9, 0.1)))])
        await first.send(sender, ok(request, 0.75))
        found = await asked
        assert statuses(found) == [MemberStatus.OK]
        assert found.outcome is Outcome.OK
        assert second.requests.empty()


@in_loop
async def test_an_ensemble_that_is_gone_is_not_known_and_its_links_are_closed(tmp_path: Path) -> None:
    async with joined(tmp_path, answers()) as (aggregator, _):
        aggregator.update([])
        assert aggregator.traffic_of(1) is None
        assert links(aggregator) == []


@in_loop
async def test_a_worker_in_two_ensembles_has_one_link_and_answers_both(tmp_path: Path) -> None:
    async with joined(tmp_path, answers()) as (aggregator, (worker,)):
        both = [snapshot(worker.member(), ensemble_id=n) for n in (1, 2)]
        aggregator.update(map(traffic, both))
        assert len(links(aggregator)) == 1
        assert [(await aggregator.predict(each, ROWS)).outcome for each in both] == [Outcome.OK] * 2


@in_loop
async def test_a_worker_that_comes_back_with_a_new_epoch_is_linked_anew(tmp_path: Path) -> None:
    async with joined(tmp_path, silent) as (aggregator, (old,)):
        waiting = asyncio.create_task(ask(aggregator))
        await old.requests.get()
        new = FakeWorker(tmp_path, script=answers(0.9), epoch=2)
        aggregator.update([traffic(snapshot(new.member()))])
        assert statuses(await waiting) == [MemberStatus.DIED]
        found = await ask(aggregator)
        assert (found.outcome, found.reports[0].epoch) == (Outcome.OK, 2)
        assert new.requests.qsize() == 1  # the new one got no old work
        new.close()


@in_loop
async def test_ids_are_never_those_of_another_life(tmp_path: Path) -> None:
    seen = set()
    for _ in range(3):
        async with joined(tmp_path, answers()) as (aggregator, (worker,)):
            for _ in range(4):
                await ask(aggregator)
                seen.add(worker.requests.get_nowait()[1].request_id)
    assert len(seen) == 12


@in_loop
async def test_a_full_queue_is_that_members_answer_and_blocks_no_one(tmp_path: Path) -> None:
    """A worker that reads nothing: its queue fills with large requests, and the others answer all the same."""
    with zmq.Context() as context, context.socket(zmq.ROUTER) as stuck:
        stuck.setsockopt(zmq.LINGER, 0)
        stuck.setsockopt(zmq.RCVHWM, 1)
        stuck.bind(f"ipc://{tmp_path / 'stuck'}")
        async with joined(tmp_path, answers()) as (aggregator, (worker,)):
            now = snapshot(worker.member(), member(f"ipc://{tmp_path / 'stuck'}", 1))
            aggregator.update([traffic(now)])
            large = np.zeros((4096, 3), np.float32)
            asked = [aggregator.predict(now, large, 1000.0) for _ in range(300)]
            found = await asyncio.gather(*asked)
            assert {statuses(f)[1] for f in found} == {MemberStatus.LATE, MemberStatus.QUEUE_FULL}
            assert MemberStatus.OK in {statuses(f)[0] for f in found}


@in_loop
async def test_a_reply_that_comes_while_another_request_is_sent_is_heard(tmp_path: Path) -> None:
    """ZeroMQ signals a reply once; sending may take that signal, and must hand it on to the reader."""
    endpoint, over = f"ipc://{tmp_path / 'w'}", threading.Event()

    def serve() -> None:
        with zmq.Context() as context, context.socket(zmq.ROUTER) as socket:
            socket.setsockopt(zmq.LINGER, 0)
            socket.bind(endpoint)
            while not over.is_set():
                if socket.poll(50):
                    sender, *frames = socket.recv_multipart()
                    socket.send_multipart([sender, *ok(Request.parse(frames)).frames()])

    thread = threading.Thread(target=serve)
    thread.start()
    aggregator = Aggregator()
    aggregator.update([traffic(snapshot(member(endpoint)))])
    (link,) = links(aggregator)
    assert isinstance(link._connection, _ZmqConnection)
    for _ in range(20):
        first = asyncio.create_task(ask(aggregator))
        await asyncio.sleep(0)
        # The loop stands still until the reply's signal is there, and the next request is sent before it looks.
        select.select([link._connection._socket.fileno()], [], [], 0.02)
        second = await ask(aggregator)
        assert [(await first).outcome, second.outcome] == [Outcome.OK, Outcome.OK]
    over.set()
    thread.join()
    aggregator.close()


@in_loop
async def test_a_client_that_leaves_in_the_step_in_which_its_answer_comes_harms_nobody() -> None:
    """Its future is cancelled before the aggregator is told: the answers of the others must still be handed out."""
    rig = AggregatorRig(traffic(now := snapshot(member("a"))))
    asked = [rig.aggregator.predict(now, ROWS) for _ in range(3)]
    asked[0].cancel()
    rig.transport["a"].disconnect()
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(found[0], asyncio.CancelledError)
    assert [statuses(f) for f in found[1:] if isinstance(f, Prediction)] == [[MemberStatus.DIED]] * 2
    rig.assert_nothing_left()


def test_who_hears_of_a_death_may_withdraw_what_else_waits_there() -> None:
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
    rig.assert_nothing_left()


def test_who_hears_an_answer_may_ask_again_at_once() -> None:
    rig = AggregatorRig(traffic(now := snapshot(member("a"))))

    def again(_: Prediction) -> None:
        rig.admit(now)

    rig.aggregator.admit(now, ROWS, None, again)
    for _ in range(2):
        rig.transport["a"].say()
    assert [prediction.outcome for prediction in rig.done] == [Outcome.OK]
    rig.assert_nothing_left()


@pytest.mark.parametrize("mode", [Mode.BETWEEN_GRAPH, Mode.IN_GRAPH])
def test_while_it_closes_nobody_takes_over_from_nobody(mode: Mode) -> None:
    """A replica that is closed already is not asked for those that wait for another (`FakeConnection` would say)."""
    replicas = [replica(name, 20 + number) for number, name in enumerate("abc")]
    rig = AggregatorRig(traffic(now := snapshot(replicated(0, *replicas), mode=mode)))
    for _ in range(6):
        rig.admit(now)
    rig.aggregator.close()
    assert [statuses(found) for found in rig.done] == [[MemberStatus.DIED]] * 6
    assert all(connection.closed for connection in rig.transport.connections)
    assert rig.transport.closed
    rig.assert_nothing_left()
    rig.admit(now)
    assert statuses(rig.done[-1]) == [MemberStatus.UNAVAILABLE]


def test_a_replica_that_takes_no_more_is_not_the_end_if_there_is_another() -> None:
    replicas = [replica(name, 20 + number) for number, name in enumerate("ab")]
    rig = AggregatorRig(traffic(now := snapshot(replicated(0, *replicas))))
    rig.transport["a"].full = True
    rig.admit(now)
    rig.transport["b"].say()
    assert rig.done[0].outcome is Outcome.OK


def test_a_version_that_is_gone_leaves_no_accounts_behind() -> None:
    """However many versions there were; those of one that drains stay until it has."""
    rig = AggregatorRig()
    for version in range(1, 50):
        now = snapshot(replicated(0, replica(f"w{version}", 20 + version)), version=version)
        rig.update(traffic(now))
        rig.admit(now)
        if version % 2:
            rig.transport[f"w{version}"].say()
    assert len(rig.aggregator.counts.members) <= 26
    rig.timer.advance(60)
    rig.update(traffic(now))
    assert set(rig.aggregator.counts.members) == {69}
    assert set(rig.aggregator.counts.ensembles) == {(1, 49)}
    assert sum(not connection.closed for connection in rig.transport.connections) == 1
    rig.assert_nothing_left()
