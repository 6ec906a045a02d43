"""When the circuit breaker of a replica opens and closes: the rule by itself, and in an aggregator."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podium.ensemble.serving.circuit_breaker import (
    FIRST_PROBE_S,
    MAX_PROBE_S,
    OPEN_AFTER,
    OPEN_SHARE,
    WINDOW,
    CircuitBreaker,
)
from podium.ensemble.serving.replica_latency import LatencyStatistics
from podium.ensemble.values.ensemble_snapshot import Snapshot
from podium.ensemble.values.ensemble_spec import Mode
from podium.ensemble.values.ensemble_states import MemberState
from podium.ensemble.values.prediction import MemberStatus, Outcome, Prediction
from tests.aggregator_rig import AggregatorRig, statuses
from tests.ensemble_fakes import member, probabilities, replica, replicated, snapshot, traffic

OWN_MS = 1000.0


def opened(now_s: float = 0.0) -> CircuitBreaker:
    breaker = CircuitBreaker()
    for _ in range(OPEN_AFTER):
        breaker.record_failure("boom", now_s)
    return breaker


def test_breaker_opens_after_exactly_the_limit_of_consecutive_failures() -> None:
    breaker = CircuitBreaker()
    for _ in range(OPEN_AFTER - 1):
        breaker.record_failure("boom", 0.0)
    assert (breaker.state, breaker.is_open) == (MemberState.SUSPECT, False)
    breaker.record_success()
    for _ in range(OPEN_AFTER - 1):
        breaker.record_failure("boom", 0.0)
    assert not breaker.is_open
    breaker.record_failure("bang", 0.0)
    assert (breaker.state, breaker.reason) == (MemberState.OPEN, "bang")


@given(st.lists(st.booleans(), max_size=60))
def test_breaker_opens_exactly_on_consecutive_failures_or_a_failure_share(fails: list[bool]) -> None:
    breaker = CircuitBreaker()
    seen: list[bool] = []
    for fail in fails:
        breaker.record_failure("boom", 0.0) if fail else breaker.record_success()
        seen.append(fail)
        window = seen[-WINDOW:]
        row = len(seen) >= OPEN_AFTER and all(seen[-OPEN_AFTER:])
        share = len(window) >= WINDOW // 2 and sum(window) >= OPEN_SHARE * len(window)
        assert breaker.is_open == (fail and (row or share))  # a success never opens it
        if breaker.is_open:
            return


def test_probe_delay_doubles_up_to_a_bound() -> None:
    breaker, now_s, waits = opened(), 0.0, []
    for _ in range(8):
        before_s = now_s
        while not breaker.probe_due(now_s):
            now_s += FIRST_PROBE_S / 2
        waits.append(now_s - before_s)
        breaker.probe_sent()
        assert (breaker.state, breaker.is_open) == (MemberState.HALF_OPEN, True)
        assert not breaker.probe_due(now_s + 1e9)  # one at a time
        breaker.probe_ended(False, now_s)
        assert breaker.state is MemberState.OPEN
    assert waits == [min(FIRST_PROBE_S * 2**n, MAX_PROBE_S) for n in range(8)]


def test_good_probe_closes_the_breaker_and_clears_its_record() -> None:
    breaker = opened()
    breaker.probe_sent()
    breaker.probe_ended(True, 1.0)
    assert (breaker.state, breaker.reason) == (MemberState.READY, "")
    assert not breaker.probe_due(1e9)
    for _ in range(OPEN_AFTER - 1):
        breaker.record_failure("boom", 1.0)
    assert not breaker.is_open


def test_probe_delay_grows_until_the_replica_is_stable() -> None:
    breaker = opened()
    breaker.probe_sent()
    breaker.probe_ended(True, 0.0)
    for _ in range(OPEN_AFTER):
        breaker.record_failure("boom", 0.0)
    assert not breaker.probe_due(1.5 * FIRST_PROBE_S)
    breaker.probe_sent()
    breaker.probe_ended(True, 0.0)
    for _ in range(WINDOW):
        breaker.record_success()
    for _ in range(WINDOW):
        breaker.record_failure("boom", 0.0)
    assert breaker.probe_due(FIRST_PROBE_S)


def test_reply_to_an_earlier_request_does_not_close_the_breaker() -> None:
    breaker = opened()
    breaker.record_success()
    assert breaker.is_open


# In an aggregator.


def two() -> tuple[AggregatorRig, Snapshot]:
    """An aggregator with members at a and b."""
    now = snapshot(member("a"), member("b", 1), deadline_ms=OWN_MS)
    return AggregatorRig(traffic(now)), now


def exchange(rig: AggregatorRig, now: Snapshot, after_s: float, *answering: str) -> Prediction:
    """A request that only these members answer, after some time."""
    rig.admit(now)
    asked = rig.transport["a"].sent[-1].request_id
    rig.timer.advance(after_s)
    for connection in rig.connections(*answering):
        if connection.sent and connection.sent[-1].request_id == asked:
            connection.send_first()
    rig.timer.advance(OWN_MS / 1000)
    return rig.done[-1]


def test_hung_member_delays_only_a_few_requests() -> None:
    rig, now = two()
    times_ms = [exchange(rig, now, 0.01, "a").total_ms for _ in range(50)]
    assert sum(ms > 100 for ms in times_ms) == OPEN_AFTER
    assert statuses(rig.done[-1]) == [MemberStatus.OK, MemberStatus.SKIPPED_OPEN]
    assert rig.done[-1].reports[1].message == "late: no answer for 5040 ms"


def test_timer_that_fires_slightly_early_still_counts_a_failure() -> None:
    rig, now = two()
    for _ in range(OPEN_AFTER):
        pending = rig.admit(now)
        rig.transport["a"].send_first()
        rig.timer.advance(0.9985)
        rig.aggregator.expire(pending)
    assert rig.aggregator.health()[21].state is MemberState.OPEN


def test_stall_of_the_gateway_is_not_a_failure_of_members() -> None:
    """Otherwise one such pause would open the breakers of all members at once."""
    rig, now = two()
    pending_requests = [rig.admit(now) for _ in range(2 * OPEN_AFTER)]
    rig.timer.stall(2 * OWN_MS / 1000)  # the timers fire before the sockets are read
    for pending in pending_requests:
        rig.aggregator.expire(pending)
    assert statuses(rig.done[-1]) == [MemberStatus.LATE] * 2
    assert {health.state for health in rig.aggregator.health().values()} == {MemberState.READY}


def test_breaker_opens_even_when_all_deadlines_are_short() -> None:
    rig, now = two()
    for _ in range(20):
        exchange(rig, now, 0.02, "a", "b")
    late = 0
    for _ in range(40):
        rig.admit(now, 100.0)
        rig.transport["a"].send_first()
        rig.timer.advance(0.1)
        late += statuses(rig.done[-1])[1] is MemberStatus.LATE
    assert OPEN_AFTER <= late <= OPEN_AFTER + 5
    assert statuses(rig.done[-1])[1] is MemberStatus.SKIPPED_OPEN


def test_tiny_deadlines_open_no_breaker() -> None:
    """The members take 50 ms, and reply after the deadline."""
    rig, now = two()
    for _ in range(200):
        rig.admit(now, 1.0)
        rig.timer.advance(0.05)
        for connection in rig.connections("a", "b"):
            connection.send_first()
        assert statuses(rig.done[-1]) == [MemberStatus.LATE] * 2
    assert {health.state for health in rig.aggregator.health().values()} == {MemberState.READY}
    for _ in range(20):
        rig.admit(now, 30.0)  # a deadline in between does not either: the latencies of late replies count
        rig.timer.advance(0.05)
        for connection in rig.connections("a", "b"):
            connection.send_first()
    assert {health.state for health in rig.aggregator.health().values()} == {MemberState.READY}
    assert exchange(rig, now, 0.05, "a", "b").outcome is Outcome.OK


def test_expired_reply_is_not_a_failure() -> None:
    rig, now = two()
    for _ in range(50):
        rig.admit(now, 1.0)
        for connection in rig.connections("a", "b"):
            connection.send_first(status="expired", predictions=None)
    assert rig.done[-1].outcome is Outcome.DEADLINE
    assert {health.state for health in rig.aggregator.health().values()} == {MemberState.READY}


def test_rows_that_fail_on_every_member_open_no_breaker() -> None:
    rig, now = two()
    for _ in range(50):
        rig.admit(now)
        for connection in rig.connections("a", "b"):
            connection.send_first(status="error", message="poison", predictions=None)
    assert statuses(rig.done[-1]) == [MemberStatus.ERROR] * 2
    assert {health.state for health in rig.aggregator.health().values()} == {MemberState.READY}


def test_slow_member_that_meets_the_deadline_stays() -> None:
    rig, now = two()
    for _ in range(50):
        assert exchange(rig, now, 0.95, "a", "b").outcome is Outcome.OK
    assert {health.state for health in rig.aggregator.health().values()} == {MemberState.READY}


def test_replica_that_took_over_near_the_deadline_has_no_failure() -> None:
    now = snapshot(replicated(0, replica("a", 20), replica("b", 21)), deadline_ms=OWN_MS)
    rig = AggregatorRig(traffic(now))
    first, second = rig.connections("a", "b")
    for _ in range(2 * OPEN_AFTER):
        first.sent.clear()
        rig.admit(now)
        asked, other = (first, second) if first.sent else (second, first)
        rig.timer.advance(0.99)
        asked.send_first(status="refused", predictions=None)
        rig.timer.advance(0.01)
        assert statuses(rig.done[-1]) == [MemberStatus.LATE]
        other.send_first()
    assert {health.state for health in rig.aggregator.health().values()} == {MemberState.READY}


def test_good_probe_restores_the_member() -> None:
    rig, now = two()
    for _ in range(OPEN_AFTER):
        exchange(rig, now, 0.01, "a")
    b = rig.transport["b"]
    before = len(b.sent)
    rig.timer.advance(FIRST_PROBE_S)
    rig.update(traffic(now))
    assert len(b.sent) == before + 1 and b.sent[-1].inputs.shape == (1, now.features)
    assert rig.aggregator.health()[21].state is MemberState.HALF_OPEN
    b.send_first()
    assert rig.aggregator.health()[21].state is MemberState.READY
    assert exchange(rig, now, 0.01, "a", "b").outcome is Outcome.OK
    assert rig.counts(21).probes == 1
    rig.assert_idle()


def test_failed_probe_leaves_the_breaker_open() -> None:
    rig, now = two()
    for _ in range(OPEN_AFTER):
        exchange(rig, now, 0.01, "a")
    b = rig.transport["b"]
    for changes in (
        {"predictions": probabilities(float("nan"), rows=1)},
        {"status": "error", "predictions": None},
        None,
    ):
        rig.timer.advance(OWN_MS / 1000 + FIRST_PROBE_S * 4)
        rig.update(traffic(now))
        assert rig.aggregator.health()[21].state is MemberState.HALF_OPEN
        if changes is None:
            rig.timer.advance(OWN_MS / 1000)
        else:
            b.send_first(**changes)
        assert rig.aggregator.health()[21].state is MemberState.OPEN
    rig.assert_idle()


def test_traffic_probes_a_skipped_member_but_not_a_disconnected_one() -> None:
    rig, now = two()
    for _ in range(OPEN_AFTER):
        exchange(rig, now, 0.01, "a")
    rig.timer.advance(FIRST_PROBE_S)
    exchange(rig, now, 0.01, "a")
    assert rig.counts(21).probes == 1
    rig.transport["b"].disconnect()
    rig.timer.advance(60)
    exchange(rig, now, 0.01, "a")
    assert rig.counts(21).probes == 1
    assert statuses(rig.done[-1])[1] is MemberStatus.UNAVAILABLE


def test_in_graph_probe_needs_a_prediction_of_every_member() -> None:
    """Its breaker opens only by silence: no other member can show that the input is not the cause."""
    members = [replicated(n, replica("w")) for n in range(3)]
    now = snapshot(*members, mode=Mode.IN_GRAPH, deadline_ms=OWN_MS)
    rig = AggregatorRig(traffic(now))
    connection = rig.transport["w"]
    for _ in range(OPEN_AFTER):
        rig.admit(now)
        rig.timer.advance(OWN_MS / 1000)
    rig.timer.advance(FIRST_PROBE_S)
    rig.update(traffic(now))
    connection.send_first()
    assert rig.aggregator.health()[20].state is MemberState.OPEN
    rig.timer.advance(2 * FIRST_PROBE_S)
    rig.update(traffic(now))
    connection.send_first(predictions=probabilities(0.5, rows=1, members=3))
    assert rig.aggregator.health()[20].state is MemberState.READY


def test_health_of_a_link_has_the_quantiles_of_its_latencies() -> None:
    statistics = LatencyStatistics(replies_per_quantile=1)
    assert statistics.quantiles(0.5) == [None]
    statistics.record(3.0, late=False)
    assert statistics.quantiles(0.99) == [3.0]
    statistics = LatencyStatistics(replies_per_quantile=1)
    for latency_ms in range(101):
        statistics.record(float(latency_ms), late=False)
    assert statistics.quantiles(0.5, 0.95, 0.99) == [50.0, 95.0, 99.0]
