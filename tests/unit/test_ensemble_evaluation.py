"""Scores against scikit-learn, and the bootstrap's interval against scipy's."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn import metrics

from ensemble.evaluation import bootstrap_ci95, evaluate


def _probabilities(generator: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    return generator.dirichlet(np.ones(shape[-1]), shape[:-1]).astype(np.float32)


def _hits(generator: np.random.Generator, rows: int, share: float) -> NDArray[np.bool_]:
    return generator.random(rows) < share


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(2, 6), st.integers(1, 4))
def test_accuracy_and_log_loss_are_those_of_scikit_learn(seed: int, rows: int, classes: int, members: int) -> None:
    generator = np.random.default_rng(seed)
    combined, alone = _probabilities(generator, rows, classes), _probabilities(generator, members, rows, classes)
    targets = generator.integers(0, classes, rows)
    found = evaluate("test", combined, alone, targets)
    assert (found.split, found.rows, len(found.members)) == ("test", rows, members)
    for scores, said in zip((found.ensemble, *found.members), (combined, *alone), strict=True):
        wide = said.astype(np.float64)
        wide /= wide.sum(axis=1, keepdims=True)
        assert scores.accuracy == pytest.approx(metrics.accuracy_score(targets, said.argmax(axis=1)))
        assert scores.log_loss == pytest.approx(
            metrics.log_loss(targets, wide, labels=list(range(classes))), rel=1e-4, abs=1e-6
        )


def test_a_class_held_impossible_costs_much_but_stays_finite() -> None:
    said = np.array([[1.0, 0.0]], np.float32)
    assert 700 < evaluate("test", said, said[None], np.array([1])).ensemble.log_loss < 710


def test_the_difference_is_of_ensemble_minus_the_member_that_was_best_before() -> None:
    right, wrong = np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32)[::-1]
    targets = np.array([0, 1])
    found = evaluate("test", right, np.stack([right, wrong]), targets, best_member=1)
    assert (found.best_member, found.difference, found.difference_ci95) == (1, 1.0, (1.0, 1.0))
    assert evaluate("test", right, np.stack([right, wrong]), targets).difference == 0.0


def test_an_evaluation_is_plain_json() -> None:
    said = np.array([[0.9, 0.1]], np.float32)
    found = json.loads(json.dumps(evaluate("test", said, said[None], np.array([0])).to_dict()))
    assert found["ensemble"]["accuracy"] == 1.0
    assert found["difference_ci95"] == [0.0, 0.0]


def test_the_interval_is_fixed_by_its_seed() -> None:
    generator = np.random.default_rng(0)
    one, other = _hits(generator, 300, 0.8), _hits(generator, 300, 0.7)
    assert bootstrap_ci95(one, other, 7) == bootstrap_ci95(one, other, 7)
    assert bootstrap_ci95(one, other, 7) != bootstrap_ci95(one, other, 8)


@given(st.integers(0, 2**32), st.integers(1, 200))
def test_the_interval_holds_the_difference_that_was_seen(seed: int, rows: int) -> None:
    generator = np.random.default_rng(seed)
    one, other = _hits(generator, rows, 0.8), _hits(generator, rows, 0.7)
    low, high = bootstrap_ci95(one, other, seed)
    seen = one.mean() - other.mean()
    assert -1 <= low <= seen + 1e-9
    assert seen - 1e-9 <= high <= 1


def test_the_interval_covers_the_true_difference_about_as_often_as_it_says() -> None:
    covered = 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        low, high = bootstrap_ci95(_hits(generator, 400, 0.8), _hits(generator, 400, 0.7), seed)
        covered += low <= 0.1 <= high
    assert 180 <= covered <= 199  # 190 expected, 3 standard deviations are 9


def test_predictors_that_are_the_same_differ_by_nothing() -> None:
    hits = _hits(np.random.default_rng(0), 50, 0.8)
    assert bootstrap_ci95(hits, hits, 0) == (0.0, 0.0)


def test_the_interval_is_close_to_that_of_scipy() -> None:
    generator = np.random.default_rng(3)
    one, other = _hits(generator, 500, 0.8), _hits(generator, 500, 0.75)
    difference = one.astype(float) - other.astype(float)
    expected = stats.bootstrap(
        (difference,), np.mean, method="percentile", n_resamples=5000, rng=np.random.default_rng(0)
    ).confidence_interval
    low, high = bootstrap_ci95(one, other, 0)
    assert low == pytest.approx(expected.low, abs=0.006)
    assert high == pytest.approx(expected.high, abs=0.006)
