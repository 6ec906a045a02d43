"""How much of a deadline is reserved for the response."""

from __future__ import annotations

import pytest

from podium.ensemble.serving.deadline_margin import INITIAL_S, MAX_SHARE, DeadlineMargin
from podium.ensemble.values.prediction import MemberStatus, Outcome
from tests.aggregator_rig import AggregatorRig, statuses
from tests.ensemble_fakes import member, snapshot, traffic


def test_reserve_before_the_first_expiry_is_a_constant() -> None:
    assert DeadlineMargin().before_deadline_s(1.0) == INITIAL_S


def test_reserve_is_a_share_of_the_deadline_at_most() -> None:
    reserve = DeadlineMargin()
    reserve.record(0.03)
    assert reserve.before_deadline_s(0.1) == pytest.approx(0.1 * MAX_SHARE)


def test_reserve_is_the_largest_recent_delay() -> None:
    reserve = DeadlineMargin()
    reserve.record(0.02)
    reserve.record(0.001)
    assert 0.015 < reserve.before_deadline_s(1.0) < 0.02


def test_reserve_shrinks_when_delays_do() -> None:
    reserve = DeadlineMargin()
    reserve.record(0.02)
    for _ in range(100):
        reserve.record(0.001)
    assert reserve.before_deadline_s(1.0) == pytest.approx(0.001)


def test_stall_of_the_machine_counts_as_a_bounded_delay() -> None:
    reserve = DeadlineMargin()
    reserve.record(10.0)
    assert reserve.before_deadline_s(10.0) == 0.05


def test_request_expires_before_its_deadline_by_the_reserve() -> None:
    now = snapshot(member("a"), member("b", 1), member("c", 2), quorum=2)
    rig = AggregatorRig(traffic(now), expiry_reserve_s=0.004)
    rig.admit(now, deadline_ms=200)
    rig.timer.advance(0.1959)
    assert not rig.done
    rig.timer.advance(0.0002)
    assert [prediction.outcome for prediction in rig.done] == [Outcome.DEADLINE]
    assert statuses(rig.done[0]) == [MemberStatus.LATE] * 3


def test_delayed_expiry_lets_the_next_request_expire_earlier() -> None:
    now = snapshot(member("a"), member("b", 1), member("c", 2), quorum=2)
    rig = AggregatorRig(traffic(now))
    rig.admit(now, deadline_ms=200)
    rig.timer.stall(0.206)
    rig.timer.advance(0)
    rig.admit(now, deadline_ms=200)
    rig.timer.advance(0.1941)
    assert len(rig.done) == 2
    assert rig.done[1].total_ms == pytest.approx(194, abs=0.2)
