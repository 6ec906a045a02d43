"""Downsampling of curves: the first thousand points, then fewer and fewer, and the last one."""

from __future__ import annotations

import pytest

from podium.sweep.protocol.message_limits import MAX_METRICS
from podium.sweep.protocol.trial_messages import TrialMessage
from podium.sweep.trial_process.metric_downsampling import MetricCurves, MetricThinning
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.errors import BadReportError
from podium.sweep.values.slot_events import Logged, Reported


class _Slot:
    """Receives the messages, and has a clock."""

    def __init__(self) -> None:
        self.received: list[TrialMessage] = []
        self.now = 50.0

    def send(self, message: TrialMessage) -> None:
        self.received.append(message)

    def steps(self, kind: type[Reported | Logged]) -> list[int]:
        return [message.step for message in self.received if isinstance(message, kind)]

    def last_values(self) -> dict[str, float]:
        last = self.received[-1]
        assert isinstance(last, Logged)
        return last.values


@pytest.fixture
def slot() -> _Slot:
    return _Slot()


@pytest.fixture
def curves(slot: _Slot) -> MetricCurves:
    return MetricCurves(AttemptKey(1, 1), slot.send, lambda: slot.now)


def test_each_doubling_of_a_curve_adds_about_five_hundred_points() -> None:
    thinning = MetricThinning()
    taken = [position for position in range(8000) if thinning.keeps_next()]
    assert taken[:1000] == list(range(1000))
    assert taken[1000:] == [*range(1000, 2000, 2), *range(2000, 4000, 4), *range(4000, 8000, 8)]


def test_last_points_are_sent_once_at_the_end(slot: _Slot, curves: MetricCurves) -> None:
    for step in range(1002):
        curves.report(step, 0.5)
        curves.log(step, {"a": 1.0, "b": 2.0})
    curves.send_last()
    curves.send_last()
    assert slot.steps(Reported) == [*range(1001), 1001]
    assert slot.last_values() == {"a": 1.0, "b": 2.0} and slot.steps(Logged) == [*range(1001), 1001]


def test_each_metric_is_thinned_separately(slot: _Slot, curves: MetricCurves) -> None:
    for step in range(1002):
        curves.log(step, {"often": 1.0})
    curves.log(1002, {"often": 1.0, "seldom": 2.0})
    curves.log(1003, {"often": 1.0, "seldom": 2.0})
    assert slot.last_values() == {"seldom": 2.0}


def test_report_returns_whether_it_was_sent(curves: MetricCurves) -> None:
    assert [curves.report(step, 0.5) for step in range(1004)][-4:] == [True, False, True, False]


@pytest.mark.parametrize("every", [1, 3, 100, 997])
def test_occasional_prune_requests_are_answered_until_the_end(slot: _Slot, curves: MetricCurves, every: int) -> None:
    answered = []
    for step in range(20_000):
        curves.report(step, 0.5)
        if (step + 1) % every == 0 and curves.request_prune():
            assert slot.steps(Reported)[-1] == step
            answered.append(step)
    longest = max(after - before for before, after in zip(answered, [*answered[1:], 20_000], strict=True))
    assert longest <= 32 + every  # the last stride, and the wait for the next question
    assert len(slot.steps(Reported)) <= 2 * 3400


def test_killed_trial_has_sent_a_recent_point(slot: _Slot, curves: MetricCurves) -> None:
    """Points every millisecond for 100 s: one more a second."""
    for step in range(100_000):
        slot.now += 0.001
        curves.report(step, 0.5)
        assert step - slot.steps(Reported)[-1] <= 1001 if step % 997 == 0 else True
    assert len(slot.steps(Reported)) < 1000 + 7 * 500 + 101


def test_long_trial_sends_few_points_but_regular_heartbeats(slot: _Slot, curves: MetricCurves) -> None:
    """A point a second for a day and a half."""
    silent_since, longest = slot.now, 0.0
    for step in range(130_000):
        slot.now += 1.0
        received = len(slot.received)
        curves.report(step, 0.5)
        if len(slot.received) > received:
            longest, silent_since = max(longest, slot.now - silent_since), slot.now
    assert longest <= 2.0
    assert len(slot.steps(Reported)) < 1000 + 7 * 500 + 6000


def test_number_of_metrics_is_limited(curves: MetricCurves) -> None:
    for position in range(MAX_METRICS):
        curves.log(0, {f"m{position}": 0.5})
    curves.log(1, {"m0": 0.5})
    with pytest.raises(BadReportError, match="at most 1,000 metrics"):
        curves.log(1, {"one more": 0.5})


def test_length_of_metric_name_is_limited(curves: MetricCurves) -> None:
    curves.log(0, {"n" * 200: 0.5})
    with pytest.raises(BadReportError, match="at most 200 characters"):
        curves.log(0, {"n" * 201: 0.5})


def test_non_finite_values_are_sent_also_from_a_long_curve(slot: _Slot, curves: MetricCurves) -> None:
    for step in range(3000):
        if step in (2001, 2003):
            curves.log_non_finite(step, {"score": float("nan")})
        else:
            curves.log(step, {"score": 1.0})
    logged = [message for message in slot.received if isinstance(message, Logged)]
    assert [message.step for message in logged if message.values["score"] != 1.0] == [2001, 2003]
