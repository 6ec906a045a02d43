"""Traffic by minute: only changes count, old minutes are dropped, and a saved history continues."""

from __future__ import annotations

import pytest

from podium.ensemble.serving.aggregator_counts import AggregatorCounts
from podium.ensemble.serving.gateway_metrics import GatewayCounters, from_json, to_json
from podium.ensemble.serving.traffic_history import MINUTES, TrafficHistory
from podium.ensemble.values.prediction import MemberStatus, Outcome

MINUTE_S = 60.0
OWNERS = {20: 1}


class Gateway:
    """Counters of ensemble 1 with one replica."""

    def __init__(self) -> None:
        self.counts = AggregatorCounts()

    def answer(
        self, times: int = 1, outcome: Outcome = Outcome.OK, total_ms: float = 4.5, *, late: bool = False
    ) -> None:
        for _ in range(times):
            ensemble, replica = self.counts.ensemble(1, 1), self.counts.member(20)
            ensemble.admitted += 1
            ensemble.outcomes[outcome] += 1
            ensemble.total_ms.observe(total_ms)
            replica.sent += 1
            replica.pending += 1
            replica.record(MemberStatus.LATE if late else MemberStatus.OK)

    def figures(self) -> GatewayCounters:
        """A copy, as another process gets it."""
        shown = GatewayCounters(self.counts.ensembles, self.counts.members, self.counts.dropped, {}, {})
        return from_json(to_json(shown))


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


def test_requests_count_in_the_minute_in_which_they_end(gateway: Gateway) -> None:
    history = TrafficHistory()
    gateway.answer(7)  # before the history began
    assert not history.record(gateway.figures(), OWNERS, 100 * MINUTE_S)
    gateway.answer(98, total_ms=4.5)
    gateway.answer(2, Outcome.DEGRADED, total_ms=900.0, late=True)
    assert history.record(gateway.figures(), OWNERS, 100 * MINUTE_S + 59)
    gateway.answer(1, Outcome.DEADLINE)
    assert history.record(gateway.figures(), OWNERS, 102 * MINUTE_S)
    assert not history.record(gateway.figures(), OWNERS, 103 * MINUTE_S)
    first, empty, last = history.between(1, 100, 3, 1)
    assert (first.requests, first.degraded, first.failed, first.late_share) == (100, 2, 0, 0.02)
    p50, p99 = first.quantile_ms(0.5), first.quantile_ms(0.99)
    assert p50 is not None and p99 is not None and 4 < p50 <= 5 and 750 < p99 <= 1000
    assert (empty.requests, empty.late_share, empty.quantile_ms(0.99)) == (0, None, None)
    assert (last.requests, last.failed) == (1, 1)
    (both,) = history.between(1, 100, 1, 15)
    assert both.requests == 101
    assert history.between(2, 100, 1, 15)[0].requests == 0


def test_new_process_starts_at_zero(gateway: Gateway) -> None:
    history = TrafficHistory()
    gateway.answer(50)
    history.record(gateway.figures(), OWNERS, 0.0)
    successor = Gateway()
    successor.answer(3)
    history.record(successor.figures(), OWNERS, 1.0)
    (found,) = history.between(1, 0, 1, 1)
    assert (found.requests, found.sent) == (3, 3)


def test_minutes_older_than_a_day_are_dropped(gateway: Gateway) -> None:
    history = TrafficHistory()
    history.record(gateway.figures(), OWNERS, 0.0)
    for minute in (0, 1, 2 * MINUTES):
        gateway.answer()
        history.record(gateway.figures(), OWNERS, minute * MINUTE_S)
    assert [each.requests for each in history.between(1, 0, 2, 1)] == [0, 0]
    assert history.between(1, 2 * MINUTES, 1, 1)[0].requests == 1


def test_saved_history_continues(gateway: Gateway) -> None:
    history = TrafficHistory()
    history.record(gateway.figures(), OWNERS, 0.0)
    gateway.answer(5, late=True)
    history.record(gateway.figures(), OWNERS, 1.0)
    again = TrafficHistory.from_json(history.to_json())
    assert again.between(1, 0, 1, 1) == history.between(1, 0, 1, 1)
    again.record(gateway.figures(), OWNERS, 2.0)
    gateway.answer(1)
    again.record(gateway.figures(), OWNERS, 3.0)
    assert again.between(1, 0, 1, 1)[0].requests == 6
    for invalid in (b"", b"{", b"[]", b'{"1": [[1, 2]]}'):
        with pytest.raises((ValueError, TypeError, AttributeError)):
            TrafficHistory.from_json(invalid)
