"""Histograms: each value is in one bucket, and quantiles are in the bucket of the exact quantile."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.ensemble.serving.latency_histogram import LATENCY_MS, Histogram

TIMES_MS = st.lists(st.floats(0, 600_000, allow_nan=False), min_size=1, max_size=60)
SHARES = st.floats(0, 1)


def seen(values: Sequence[float], buckets: tuple[float, ...] = LATENCY_MS) -> Histogram:
    histogram = Histogram(buckets)
    for value in values:
        histogram.observe(value)
    return histogram


def test_value_on_a_bound_is_in_the_bucket_below() -> None:
    histogram = seen([0, 1, 1.5, 2, 3], (1.0, 2.0))
    assert (histogram.counts, histogram.count, histogram.sum) == ([2, 2, 1], 5, 7.5)


def test_empty_histogram_has_no_quantile() -> None:
    assert Histogram().quantile(0.5) is None


def test_quantiles_are_linear_within_a_bucket() -> None:
    histogram = seen([12] * 10 + [18] * 10, (10.0, 20.0, 40.0))
    assert [histogram.quantile(q) for q in (0, 0.25, 0.5, 1)] == [10, 12.5, 15, 20]


def test_quantile_above_the_last_bound_is_the_last_bound() -> None:
    assert seen([1, 99, 99], (10.0, 20.0)).quantile(0.99) == 20


def test_histograms_do_not_share_counts() -> None:
    first, second = Histogram(), Histogram()
    first.observe(1)
    assert second.count == 0


@given(TIMES_MS)
def test_every_value_is_counted(values: list[float]) -> None:
    histogram = seen(values)
    assert histogram.count == len(values)
    assert histogram.sum == pytest.approx(math.fsum(values))


@given(TIMES_MS, SHARES)
def test_quantile_is_in_the_bucket_of_the_exact_one(values: list[float], q: float) -> None:
    histogram = seen(values)
    estimate = histogram.quantile(q)
    # The same rank as in the histogram's own arithmetic, so that rounding cannot separate the two.
    true = sorted(values)[max(math.ceil(q * len(values)), 1) - 1]
    index = bisect_left(LATENCY_MS, true)
    assert estimate is not None
    assert (LATENCY_MS[index - 1] if index else 0) <= estimate <= LATENCY_MS[index]


@given(TIMES_MS, SHARES, SHARES)
def test_quantiles_are_ascending(values: list[float], q: float, r: float) -> None:
    low, high = (seen(values).quantile(share) for share in sorted((q, r)))
    assert low is not None
    assert high is not None
    assert low <= high
