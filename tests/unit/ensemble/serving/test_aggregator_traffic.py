"""Which version answers a request: the active one, the canary by its share, or the requested one."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.circuit_breaker import OPEN_AFTER
from podium.ensemble.values.ensemble_snapshot import Member, Snapshot, Traffic
from podium.ensemble.values.ensemble_states import MemberState
from podium.ensemble.values.prediction import MemberStatus, Outcome, Prediction
from podium.sweep.values.errors import NotFoundError
from tests.aggregator_rig import FakeTimer, FakeTransport
from tests.ensemble_fakes import ROWS, member, snapshot, traffic

REQUESTS = 2000


def version(number: int, state: MemberState = MemberState.READY) -> Snapshot:
    """Three members, 10 replica ids apart from another version's."""
    members = [member(f"unix:{number}{i}", 10 * number + i, state=state) for i in range(3)]
    return replace(snapshot(*members, quorum=2), version=number)


def aggregator(item: Traffic) -> Aggregator:
    timer = FakeTimer()
    made = Aggregator(FakeTransport(timer), timer)
    made.update([item])
    return made


def share_of(found: Aggregator, item: Traffic, number: int) -> float:
    return sum(found.ensembles.choose(item, None).version == number for _ in range(REQUESTS)) / REQUESTS


def test_canary_answers_its_share() -> None:
    item = traffic(version(1), version(2), 0.25)
    assert share_of(aggregator(item), item, 2) == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("state", [MemberState.STARTING, MemberState.WARMING, MemberState.FAILED, MemberState.STOPPED])
def test_canary_below_its_quorum_gets_no_requests(state: MemberState) -> None:
    item = traffic(version(1), version(2, state), 0.9)
    assert share_of(aggregator(item), item, 2) == 0


def test_canary_with_a_warming_member_gets_no_requests() -> None:
    """It has its quorum, but its answers would be degraded without a failure."""
    warming = member(None, 29, state=MemberState.WARMING)
    canary = replace(version(2), members=(*version(2).members[:2], warming))
    item = traffic(version(1), canary, 0.9)
    assert share_of(aggregator(item), item, 2) == 0


def test_canary_whose_members_all_fail_gets_no_more_requests() -> None:
    """The active version answers instead: a bad canary affects its share of requests only until it is detected."""
    timer = FakeTimer()
    found = Aggregator(FakeTransport(timer), timer)
    item = traffic(version(1), version(2), 0.9)
    found.update([item])
    for position in range(3):
        link = next(link for link in found.links.by_replica.values() if link.endpoint == f"unix:2{position}")
        for _ in range(OPEN_AFTER):
            link.breaker.record_failure("boom", 1000.0)
    assert share_of(found, item, 2) == 0


def test_answer_has_the_reason_of_an_unavailable_member() -> None:
    gone = replace(version(1).members[0].replicas[0], state=MemberState.FAILED, endpoint=None, reason="damaged")
    now = replace(version(1), members=(Member(10, 100, (gone,), 0, 3), *version(1).members[1:]))
    found: list[Prediction] = []
    transport = FakeTransport(timer := FakeTimer())
    made = Aggregator(transport, timer)
    made.update([traffic(now)])
    made.admit(now, ROWS, None, found.append)
    timer.end_turn()
    for connection in transport.connections:
        connection.send_first()
    assert (found[0].reports[0].status, found[0].reports[0].message) == (MemberStatus.UNAVAILABLE, "failed: damaged")


def test_requested_version_answers() -> None:
    item = traffic(version(1), version(2), 0.5)
    found = aggregator(item)
    name = item.active.name
    assert {found.ensembles.choose(item, 1).version for _ in range(20)} == {1}
    assert {found.ensembles.named(name, 2).version for _ in range(20)} == {2}
    with pytest.raises(NotFoundError, match="version 3"):
        found.ensembles.named(name, 3)
    with pytest.raises(NotFoundError, match="ensemble 'other' is not being served"):
        found.ensembles.named("other", None)


def test_request_is_answered_by_the_version_that_was_chosen() -> None:
    """A version that is replaced before the request is sent still answers it."""

    async def ask() -> Outcome:
        transport = FakeTransport(timer := FakeTimer())
        found = Aggregator(transport, timer)
        found.update([traffic(version(1))])
        answer = found.predict(version(1), ROWS)
        connections = list(transport.connections)
        found.update([traffic(version(2))])
        timer.end_turn()
        for connection in connections:
            connection.send_first()
        return (await answer).outcome

    assert asyncio.run(ask()) is Outcome.OK
