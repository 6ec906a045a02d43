"""The comparison of best accuracies in row 5, without a sweep."""

from __future__ import annotations

import pytest

from benchmarks.real_sweep import Measurement, not_lower


@pytest.mark.parametrize(("ours", "reached"), [((0.90, 0.92), True), ((0.89, 0.90), False)])
def test_mean_of_best_accuracies_must_not_be_lower(ours: tuple[float, ...], reached: bool) -> None:
    theirs = [Measurement(10, 0.90), Measurement(10, 0.90)]
    target = not_lower([Measurement(10, best) for best in ours], theirs)
    assert target.reached is reached and "95 % from" in target.measured


def test_interval_is_from_student_t() -> None:
    target = not_lower([Measurement(1, best) for best in (0.91, 0.92, 0.93)], [Measurement(1, 0.90)] * 3)
    assert target.measured == "+2.00 points, 95 % from -0.48 to +4.48"


def test_single_pair_has_no_interval() -> None:
    assert not_lower([Measurement(1, 0.9)], [Measurement(1, 0.9)]).measured == "+0.00 points"
