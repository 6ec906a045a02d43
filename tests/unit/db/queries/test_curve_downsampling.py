"""Curves reduced for a chart: extremes and ends survive, ranges continue to the edge, bands have mean and extremes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.db.queries.curve_downsampling import XRange, band, thinned

ALL = XRange()
_VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300)


@given(_VALUES, st.integers(4, 60))
def test_thinned_curve_keeps_its_ends_and_extremes_within_the_number_of_points(values: list[float], most: int) -> None:
    x, y = np.arange(len(values), dtype=float), np.array(values)
    few_x, few_y = thinned(x, y, most, ALL)
    assert few_x.size <= max(most, 4)
    assert {few_x[0], few_x[-1]} == {0.0, len(values) - 1.0}
    assert (few_y.min(), few_y.max()) == (y.min(), y.max())
    assert np.array_equal(y[few_x.astype(int)], few_y)
    assert np.all(np.diff(few_x) > 0)


def test_short_curve_is_unchanged() -> None:
    x = np.array([0.0, 1.0])
    assert thinned(x, x, 4, ALL)[0].tolist() == [0.0, 1.0]


def test_curve_by_a_metric_that_decreases_keeps_its_order() -> None:
    x, y = np.array([0.0, 3.0, 1.0, 2.0] * 50), np.arange(200.0)
    few_x, few_y = thinned(x, y, 20, ALL)
    assert np.all(np.diff(few_y) > 0) and few_y.size <= 20
    assert np.array_equal(x[few_y.astype(int)], few_x)


def test_range_has_every_point_and_one_beyond_each_end() -> None:
    x = np.arange(100.0)
    assert thinned(x, x, 4000, XRange(10.0, 12.5))[0].tolist() == [9.0, 10.0, 11.0, 12.0, 13.0]
    assert thinned(x, x, 4000, XRange(98.5, None))[0].tolist() == [98.0, 99.0]


def test_range_between_two_points_has_the_line_that_crosses_it() -> None:
    x = np.array([0.0, 10.0, 20.0])
    assert thinned(x, x, 4, XRange(12.0, 15.0))[0].tolist() == [10.0, 20.0]
    assert thinned(x, x, 4, XRange(30.0, 40.0))[0].tolist() == []


def test_logarithmic_axis_is_thinned_by_ratios() -> None:
    x = np.arange(0.0, 10_000.0)
    few, _ = thinned(x, np.sin(x), 42, XRange(log=True))
    assert few[0] == 1.0
    assert np.count_nonzero(few < 100) >= 15


def test_band_has_the_mean_the_extremes_and_the_number_of_curves() -> None:
    one = (np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 4.0]))
    two = (np.array([0.0, 2.0, 3.0]), np.array([2.0, 2.0, 8.0]))
    found = band([one, two], 10, ALL)
    assert found is not None
    assert found.x.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert found.mean.tolist() == [1.0, 2.0, 3.0, 8.0]  # the second at 1: the line between its neighbors, 2
    assert found.low.tolist() == [0.0, 2.0, 2.0, 8.0]
    assert found.high.tolist() == [2.0, 2.0, 4.0, 8.0]
    assert found.curves.tolist() == [2, 2, 2, 1]


@pytest.mark.parametrize("log", [False, True])
def test_band_of_many_points_keeps_the_extremes(log: bool) -> None:
    x = np.arange(1.0, 5001.0)
    y = np.sin(x)
    y[777] = 50.0
    found = band([(x, y), (x, -y)], 100, XRange(log=log))
    assert found is not None
    assert found.x.size <= 100
    assert (found.low.min(), found.high.max()) == (-50.0, 50.0)
    assert np.abs(found.mean).max() < 1e-9
    assert np.all((found.low <= found.mean) & (found.mean <= found.high))


def test_band_without_points_in_the_range_is_none() -> None:
    x = np.array([0.0, 1.0])
    assert band([(x, x)], 10, XRange(5.0, 6.0)) is None
    assert band([], 10, ALL) is None
