"""Figures of several gateways: counters and histograms are sums, and health is the worst that one of them sees."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.ensemble.serving.aggregator_counts import AggregatorCounts
from podium.ensemble.serving.aggregator_limits import AggregatorLimits
from podium.ensemble.serving.gateway_metrics import GatewayCounters, adopt, from_json, merged, to_json
from podium.ensemble.serving.replica_latency import LatencyWindow
from podium.ensemble.serving.replica_link import LinkHealth
from podium.ensemble.values.ensemble_states import MemberState
from podium.ensemble.values.prediction import MemberStatus, Outcome
from tests.aggregator_rig import AggregatorRig, ended_count
from tests.ensemble_fakes import member, snapshot, traffic

REQUESTS = st.lists(st.tuples(st.sampled_from([*Outcome, None]), st.floats(0.01, 1e6)))
SENDS = st.lists(st.tuples(st.integers(20, 22), st.sampled_from([*MemberStatus, "pending"])))


def figures_of(requests: Sequence[tuple[Outcome | None, float]], sends: Sequence[tuple[int, str]]) -> GatewayCounters:
    """The figures of a gateway that counted these requests (None: in flight) and these requests to replicas."""
    counts = AggregatorCounts()
    for outcome, total_ms in requests:
        ensemble = counts.ensemble(1, 1)
        ensemble.admitted += 1
        if outcome is None:
            ensemble.in_flight += 1
        else:
            ensemble.outcomes[outcome] += 1
            ensemble.total_ms.observe(total_ms)
    for replica_id, status in sends:
        replica = counts.member(replica_id)
        replica.sent += 1
        replica.pending += 1
        if isinstance(status, MemberStatus):
            replica.record(status)
    counts.dropped["late"] += len(sends)
    return GatewayCounters(dict(counts.ensembles), dict(counts.members), counts.dropped, {}, {})


def assert_identities(figures: GatewayCounters) -> None:
    for ensemble in figures.ensembles.values():
        assert ensemble.admitted == sum(ensemble.outcomes.values()) + ensemble.in_flight
    for replica in figures.members.values():
        assert replica.sent == replica.pending + sum(ended_count(replica))


def health(state: MemberState, reason: str = "", *, epoch: int = 1, waiting: int = 0) -> GatewayCounters:
    """A gateway that sees replica 20 in this state."""
    seen = LinkHealth(20, state, reason, epoch, 1.0, 2.0, 0.0, waiting)
    return GatewayCounters({}, {}, AggregatorCounts().dropped, {20: seen}, {})


@given(st.lists(st.tuples(REQUESTS, SENDS), min_size=1, max_size=4))
def test_merged_counts_are_those_of_one_gateway_with_all_requests(
    gateways: list[tuple[list[tuple[Outcome | None, float]], list[tuple[int, str]]]],
) -> None:
    together = merged([figures_of(requests, sends) for requests, sends in gateways])
    alone = figures_of(
        [request for requests, _ in gateways for request in requests], [send for _, sends in gateways for send in sends]
    )
    for key, ensemble in alone.ensembles.items():
        found = together.ensembles[key]
        assert (found.admitted, found.in_flight, found.outcomes) == (
            ensemble.admitted, ensemble.in_flight, ensemble.outcomes
        )  # fmt: skip
        assert found.total_ms.counts == ensemble.total_ms.counts
        assert found.total_ms.sum == pytest.approx(ensemble.total_ms.sum)
    assert together.members == alone.members
    assert together.dropped == alone.dropped
    assert_identities(together)


@given(REQUESTS, SENDS)
def test_figures_survive_json_round_trip(
    requests: list[tuple[Outcome | None, float]], sends: list[tuple[int, str]]
) -> None:
    figures = figures_of(requests, sends)
    assert from_json(to_json(figures)) == figures


def test_figures_of_a_working_aggregator_are_a_copy_and_survive_json() -> None:
    now = snapshot(member("a"))
    rig = AggregatorRig(traffic(now))
    rig.admit(now)
    before = GatewayCounters.of(rig.aggregator)
    (connection,) = rig.connections("a")
    rig.timer.advance(0.02)
    connection.send_first()
    assert before.ensembles[1, 1].in_flight == before.members[20].pending == 1
    after = GatewayCounters.of(rig.aggregator)
    assert after.ensembles[1, 1].outcomes[Outcome.OK] == after.members[20].ok == 1
    assert after.latencies[20].times_ms == pytest.approx([20.0])
    assert from_json(to_json(after)) == after
    assert from_json(to_json(after.counters())).latencies == {}


@given(REQUESTS, SENDS)
def test_successor_continues_the_counters_and_ends_what_was_in_flight(
    requests: list[tuple[Outcome | None, float]], sends: list[tuple[int, str]]
) -> None:
    before = figures_of(requests, sends)
    counts = AggregatorCounts()
    adopt(counts, from_json(to_json(before)))
    after = GatewayCounters(counts.ensembles, counts.members, counts.dropped, {}, {})
    assert_identities(after)
    for key, ensemble in before.ensembles.items():
        assert after.ensembles[key].admitted == ensemble.admitted
        assert after.ensembles[key].in_flight == 0
        lost = after.ensembles[key].outcomes[Outcome.CANCELLED] - ensemble.outcomes[Outcome.CANCELLED]
        assert lost == ensemble.in_flight
    for replica_id, replica in before.members.items():
        assert (after.members[replica_id].sent, after.members[replica_id].pending) == (replica.sent, 0)
    assert counts.dropped == before.dropped


def test_replica_has_the_worst_state_that_a_gateway_sees() -> None:
    seen = merged([health(MemberState.READY, waiting=3), health(MemberState.OPEN, "late", waiting=4)]).health[20]
    assert (seen.state, seen.reason, seen.waiting) == (MemberState.OPEN, "late (1 of 2 gateways)", 7)
    both = merged([health(MemberState.OPEN, "late"), health(MemberState.OPEN, "late")]).health[20]
    assert both.reason == "late"


def test_gateway_with_an_earlier_epoch_does_not_count() -> None:
    seen = merged([health(MemberState.RESTARTING, epoch=1), health(MemberState.READY, epoch=2)]).health[20]
    assert (seen.state, seen.epoch) == (MemberState.READY, 2)


def test_quantiles_are_over_the_replies_to_all_gateways() -> None:
    first, second = health(MemberState.READY), health(MemberState.READY)
    windows = LatencyWindow([1.0] * 50, 0, 50), LatencyWindow([9.0] * 50, 30, 50)
    both = [
        GatewayCounters({}, {}, each.dropped, each.health, {20: window})
        for each, window in zip((first, second), windows, strict=True)
    ]
    seen = merged(both).health[20]
    assert (seen.p50_ms, seen.p99_ms, seen.late_share) == (1.0, 9.0, 0.3)


def test_limits_on_requests_are_divided_and_rounded_up() -> None:
    limits = AggregatorLimits(requests=100, replica_requests=10, request_bytes=7, replica_bytes=8)
    assert limits.divided(1) == limits
    third = limits.divided(3)
    assert (third.requests, third.replica_requests) == (34, 4)
    assert (third.request_bytes, third.replica_bytes) == (7, 8)
