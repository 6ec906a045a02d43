"""Intervals and McNemar's test compared with scipy; disagreement compared with its distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from scipy.spatial import distance

from podium.ensemble.scoring.predictor_comparison import (
    FEW_DISCORDANT,
    hits_difference_ci95,
    label_disagreement,
    mcnemar,
    mean_difference_ci95,
    rmse_difference_ci95,
    value_disagreement,
)

seeds = st.integers(0, 2**32)


def _hits(generator: np.random.Generator, rows: int, share: float) -> NDArray[np.bool_]:
    return generator.random(rows) < share


def _discordant(one: int, other: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Two classifiers: rows that only the first has right, only the second, both, or neither of them."""
    return (
        np.array([True] * one + [False] * other + [True, False]),
        np.array([False] * one + [True] * other + [True, False]),
    )


def test_interval_is_determined_by_its_seed() -> None:
    generator = np.random.default_rng(0)
    one, other = _hits(generator, 300, 0.8), _hits(generator, 300, 0.7)
    assert hits_difference_ci95(one, other, 7) == hits_difference_ci95(one, other, 7)
    assert hits_difference_ci95(one, other, 7) != hits_difference_ci95(one, other, 8)
    losses, others = generator.random(300), generator.random(300)
    for interval in (mean_difference_ci95, rmse_difference_ci95):
        assert interval(losses, others, 7) == interval(losses, others, 7)
        assert interval(losses, others, 7) != interval(losses, others, 8)


@given(seeds, st.integers(1, 200))
def test_interval_contains_the_observed_difference(seed: int, rows: int) -> None:
    generator = np.random.default_rng(seed)
    one, other = _hits(generator, rows, 0.8), _hits(generator, rows, 0.7)
    low, high = hits_difference_ci95(one, other, seed)
    seen = one.mean() - other.mean()
    assert -1 <= low <= seen + 1e-9
    assert seen - 1e-9 <= high <= 1


def test_interval_covers_the_true_difference_at_its_confidence_level() -> None:
    covered = 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        low, high = hits_difference_ci95(_hits(generator, 400, 0.8), _hits(generator, 400, 0.7), seed)
        covered += low <= 0.1 <= high
    assert 180 <= covered <= 199  # 190 expected, 3 standard deviations are 9


def test_identical_predictors_have_no_difference() -> None:
    generator = np.random.default_rng(0)
    right, losses = _hits(generator, 50, 0.8), generator.random(50)
    assert hits_difference_ci95(right, right, 0) == (0.0, 0.0)
    assert mean_difference_ci95(losses, losses, 0) == (0.0, 0.0)
    assert rmse_difference_ci95(losses, losses, 0) == (0.0, 0.0)


def test_interval_of_accuracy_is_close_to_scipy() -> None:
    generator = np.random.default_rng(3)
    one, other = _hits(generator, 500, 0.8), _hits(generator, 500, 0.75)
    difference = one.astype(float) - other.astype(float)
    expected = stats.bootstrap(
        (difference,), np.mean, method="percentile", n_resamples=5000, rng=np.random.default_rng(0)
    ).confidence_interval
    assert hits_difference_ci95(one, other, 0) == pytest.approx((expected.low, expected.high), abs=0.006)


def _mean_difference(one: NDArray[np.float64], other: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    return np.asarray(one.mean(axis=axis) - other.mean(axis=axis))


def _rmse_difference(one: NDArray[np.float64], other: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(one.mean(axis=axis)) - np.sqrt(other.mean(axis=axis)))


def test_intervals_of_log_loss_and_rmse_are_close_to_scipy() -> None:
    generator = np.random.default_rng(3)
    one = generator.exponential(1.0, 400)
    other = one + generator.normal(0.1, 0.3, 400) ** 2
    for interval, statistic in (
        (mean_difference_ci95, _mean_difference),
        (rmse_difference_ci95, _rmse_difference),
    ):
        expected = stats.bootstrap(
            (one, other),
            statistic,
            paired=True,
            vectorized=True,
            method="percentile",
            n_resamples=5000,
            rng=np.random.default_rng(0),
        ).confidence_interval
        width = expected.high - expected.low
        assert interval(one, other, 0) == pytest.approx((expected.low, expected.high), abs=0.08 * width)


def test_interval_does_not_need_all_resamples_at_once() -> None:
    generator = np.random.default_rng(0)
    one, other = generator.random(70), generator.random(70)
    whole = mean_difference_ci95(one, other, 5)
    low, high = mean_difference_ci95(one, other, 5, block_draws=10)  # fewer than the rows: one resample at a time
    assert (low, high) == pytest.approx(whole, abs=0.1 * (whole[1] - whole[0]))


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_equals_the_binomial_or_chi_square_test_of_scipy(one: int, other: int) -> None:
    found = mcnemar(*_discordant(one, other))
    assert (found.only_ensemble_right, found.only_best_right) == (one, other)
    assert found.exact == (one + other < FEW_DISCORDANT)
    if one + other == 0:
        expected = 1.0
    elif found.exact:
        expected = stats.binomtest(one, one + other, 0.5).pvalue
    else:
        expected = stats.chi2.sf(max(abs(one - other) - 1, 0) ** 2 / (one + other), 1)
    assert found.p_value == pytest.approx(expected, rel=1e-9)


def test_both_methods_of_mcnemar_agree_at_their_boundary() -> None:
    for one in range(FEW_DISCORDANT + 1):
        found = mcnemar(*_discordant(one, FEW_DISCORDANT - one))
        assert not found.exact
        assert found.p_value == pytest.approx(stats.binomtest(one, FEW_DISCORDANT, 0.5).pvalue, abs=0.02)


@given(seeds, st.integers(1, 6), st.integers(1, 50), st.integers(2, 4))
def test_disagreement_equals_a_distance_of_scipy(seed: int, members: int, rows: int, outputs: int) -> None:
    generator = np.random.default_rng(seed)
    predictions = generator.random((members, rows, outputs)).astype(np.float32)
    labels, values = predictions.argmax(axis=2), predictions.astype(np.float64).reshape(members, -1)
    expected = distance.squareform(distance.pdist(labels, "hamming")) if members > 1 else np.zeros((1, 1))
    np.testing.assert_allclose(label_disagreement(predictions), expected)
    expected = distance.squareform(distance.pdist(values)) if members > 1 else np.zeros((1, 1))
    np.testing.assert_allclose(value_disagreement(predictions), expected / np.sqrt(rows * outputs), atol=1e-12)
