"""Which points of a curve are sent: all of the first thousand, ever fewer after, and the last."""

from __future__ import annotations

from typing import Any

import pytest

from podium.sweep.trial_process.metric_thinning import MAX_NAMES, Curves, Thinning
from podium.sweep.values.errors import BadReportError


class _Slot:
    """Hears what is sent, and has a clock."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self.now = 50.0

    def send(self, **message: Any) -> None:
        self.heard.append(message)

    def steps(self, kind: str) -> list[int]:
        return [message["step"] for message in self.heard if message["kind"] == kind]


@pytest.fixture
def slot() -> _Slot:
    return _Slot()


@pytest.fixture
def curves(slot: _Slot) -> Curves:
    return Curves(slot.send, lambda: slot.now)


def test_each_doubling_adds_some_five_hundred() -> None:
    thinning = Thinning()
    taken = [position for position in range(8000) if thinning.takes()]
    assert taken[:1000] == list(range(1000))
    assert taken[1000:] == [*range(1000, 2000, 2), *range(2000, 4000, 4), *range(4000, 8000, 8)]


def test_the_last_points_are_sent_at_the_end_once(slot: _Slot, curves: Curves) -> None:
    for step in range(1002):
        curves.report(step, 0.5)
        curves.log(step, {"a": 1.0, "b": 2.0})
    curves.send_last()
    curves.send_last()
    assert slot.steps("reported") == [*range(1001), 1001]
    assert slot.heard[-1]["values"] == {"a": 1.0, "b": 2.0} and slot.steps("logged") == [*range(1001), 1001]


def test_each_metric_is_thinned_by_itself(slot: _Slot, curves: Curves) -> None:
    for step in range(1002):
        curves.log(step, {"often": 1.0})
    curves.log(1002, {"often": 1.0, "seldom": 2.0})
    curves.log(1003, {"often": 1.0, "seldom": 2.0})
    assert slot.heard[-1]["values"] == {"seldom": 2.0}


def test_it_says_whether_a_report_was_sent(curves: Curves) -> None:
    assert [curves.report(step, 0.5) for step in range(1004)][-4:] == [True, False, True, False]


@pytest.mark.parametrize("every", [1, 3, 100, 997])
def test_whoever_asks_now_and_then_is_heard_to_the_end(slot: _Slot, curves: Curves, every: int) -> None:
    heard = []
    for step in range(20_000):
        curves.report(step, 0.5)
        if (step + 1) % every == 0 and curves.ask():
            assert slot.steps("reported")[-1] == step
            heard.append(step)
    longest = max(after - before for before, after in zip(heard, [*heard[1:], 20_000], strict=True))
    assert longest <= 32 + every  # the last stride, and the wait for the next question
    assert len(slot.steps("reported")) <= 2 * 3400


def test_a_trial_that_is_killed_showed_where_it_was(slot: _Slot, curves: Curves) -> None:
    """Points every millisecond for 100 s: one more a second."""
    for step in range(100_000):
        slot.now += 0.001
        curves.report(step, 0.5)
        assert step - slot.steps("reported")[-1] <= 1001 if step % 997 == 0 else True
    assert len(slot.steps("reported")) < 1000 + 7 * 500 + 101


def test_in_a_long_trial_even_these_are_few_but_it_shows_life(slot: _Slot, curves: Curves) -> None:
    """A point a second for a day and a half."""
    silent_since, longest = slot.now, 0.0
    for step in range(130_000):
        slot.now += 1.0
        heard = len(slot.heard)
        curves.report(step, 0.5)
        if len(slot.heard) > heard:
            longest, silent_since = max(longest, slot.now - silent_since), slot.now
    assert longest <= 2.0
    assert len(slot.steps("reported")) < 1000 + 7 * 500 + 6000


def test_a_trial_cannot_make_up_names_without_end(curves: Curves) -> None:
    for position in range(MAX_NAMES):
        curves.log(0, {f"m{position}": 0.5})
    curves.log(1, {"m0": 0.5})
    with pytest.raises(BadReportError, match="1,000 metrics at most"):
        curves.log(1, {"one more": 0.5})


def test_a_name_is_one_that_people_can_read(curves: Curves) -> None:
    curves.log(0, {"n" * 200: 0.5})
    with pytest.raises(BadReportError, match="200 characters at most"):
        curves.log(0, {"n" * 201: 0.5})
