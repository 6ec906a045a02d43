"""Scores compared with scikit-learn, torch and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn import metrics

from podium.ensemble.scoring.scores import brier, hits, log_losses, regression_scores, squared_errors

seeds = st.integers(0, 2**32)


def _values(generator: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    return generator.standard_normal(shape).astype(np.float32)


@given(seeds, st.integers(1, 60), st.integers(2, 6))
def test_scores_of_probabilities_equal_scikit_learn(seed: int, rows: int, classes: int) -> None:
    generator = np.random.default_rng(seed)
    predicted = generator.dirichlet(np.ones(classes), rows).astype(np.float32)
    targets = generator.integers(0, classes, rows)
    wide, labels = predicted.astype(np.float64), list(range(classes))
    wide /= wide.sum(axis=1, keepdims=True)
    assert hits(predicted, targets).mean() == pytest.approx(metrics.accuracy_score(targets, predicted.argmax(axis=1)))
    expected = metrics.log_loss(targets, wide, labels=labels)
    assert log_losses(predicted, targets).mean() == pytest.approx(expected, rel=1e-4, abs=1e-6)
    expected = metrics.brier_score_loss(targets, wide, labels=labels, scale_by_half=False)
    assert brier(predicted, targets) == pytest.approx(expected, abs=1e-6)


def test_brier_score_is_the_sum_over_the_classes() -> None:
    predicted = np.array([[0.0, 1.0], [0.5, 0.5]], np.float32)
    assert brier(predicted, np.array([0, 0])) == (2 + 0.5) / 2


def test_zero_probability_has_a_large_finite_loss() -> None:
    assert 87 < log_losses(np.array([[1.0, 0.0]], np.float32), np.array([1]))[0] < 88


@given(seeds, st.integers(1, 40), st.integers(1, 3))
def test_scores_of_values_equal_scikit_learn_and_torch(seed: int, rows: int, outputs: int) -> None:
    generator = np.random.default_rng(seed)
    predicted, targets = _values(generator, rows, outputs), _values(generator, rows, outputs)
    variance = generator.uniform(0.1, 3, (rows, outputs)).astype(np.float32)
    found = regression_scores(predicted, targets, variance)
    rmse = metrics.root_mean_squared_error(targets.ravel(), predicted.ravel())
    assert found.rmse == pytest.approx(rmse, rel=1e-5)
    assert np.sqrt(squared_errors(predicted, targets).mean()) == pytest.approx(rmse, rel=1e-5)
    assert found.mae == pytest.approx(metrics.mean_absolute_error(targets, predicted), rel=1e-5)
    nll = torch.nn.GaussianNLLLoss(full=True)(*(torch.from_numpy(array) for array in (predicted, targets, variance)))
    assert found.nll == pytest.approx(float(nll), rel=1e-4, abs=1e-5)
    low, high = stats.norm.interval(0.95, predicted.astype(np.float64), np.sqrt(variance.astype(np.float64)))
    assert found.coverage95 == pytest.approx(((targets >= low) & (targets <= high)).mean())
    assert found.interval95_width == pytest.approx((high - low).mean())


def test_one_variance_per_output_applies_to_every_row() -> None:
    generator = np.random.default_rng(0)
    predicted, targets = _values(generator, 5, 2), _values(generator, 5, 2)
    variance = np.array([0.5, 2.0], np.float32)
    assert regression_scores(predicted, targets, variance) == regression_scores(
        predicted, targets, np.tile(variance, (5, 1))
    )


def test_interval_covers_the_nominal_fraction() -> None:
    generator = np.random.default_rng(0)
    targets = 3 * _values(generator, 20_000, 1)
    found = regression_scores(np.zeros_like(targets), targets, np.array([9.0]))
    assert found.coverage95 == pytest.approx(0.95, abs=0.005)
    assert found.interval95_width == pytest.approx(2 * 1.96 * 3, rel=1e-3)
    assert found.nll == pytest.approx(stats.norm(scale=3).entropy(), abs=0.02)


def test_no_variance_means_no_likelihood_and_no_interval() -> None:
    found = regression_scores(np.zeros((2, 1), np.float32), np.array([[3.0], [4.0]], np.float32), None)
    assert (found.rmse, found.mae) == (math.sqrt(12.5), 3.5)
    assert (found.nll, found.coverage95, found.interval95_width) == (None, None, None)


def test_zero_variance_has_an_interval_but_no_likelihood() -> None:
    found = regression_scores(np.zeros((2, 1), np.float32), np.array([[0.0], [4.0]], np.float32), np.zeros(1))
    assert (found.nll, found.coverage95, found.interval95_width) == (None, 0.5, 0.0)
