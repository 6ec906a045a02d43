"""Fitting: weights, temperature and stacking equal the optima of other libraries; degenerate rows are handled."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression, Ridge
from threadpoolctl import threadpool_limits

from podium.ensemble.scoring.combination_fitting import (
    MIN_ROWS,
    fit,
    mixture_weights,
    simplex_least_squares,
    temperature,
)
from podium.ensemble.scoring.combine import apply_temperature, combine
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import REGRESSION_RULES, Rule, Task
from podium.sweep.values.errors import EnsembleError

Array = NDArray[Any]
CLASSES, VALUES = Task.CLASSIFICATION, Task.REGRESSION
seeds = st.integers(0, 2**32)
few = settings(max_examples=25)


@pytest.fixture(scope="module", autouse=True)
def one_blas_thread() -> Iterator[None]:
    """For arrays as small as these, the threads of BLAS cost more than they save."""
    with threadpool_limits(1, "blas"):
        yield


def classifiers(seed: int, members: int = 3, rows: int = 80, classes: int = 3) -> tuple[Array, Array]:
    """Probabilities that favor the target, each member's to a different degree."""
    generator = np.random.default_rng(seed)
    targets = generator.integers(classes, size=rows)
    scores = generator.standard_normal((members, rows, classes))
    scores[:, np.arange(rows), targets] += generator.uniform(0, 2, members)[:, None]
    return np.asarray(softmax(scores, axis=2), dtype=np.float32), targets


def regressors(seed: int, members: int = 3, rows: int = 80, outputs: int = 2) -> tuple[Array, Array]:
    generator = np.random.default_rng(seed)
    targets = generator.standard_normal((rows, outputs)).astype(np.float32)
    noise = generator.standard_normal((members, rows, outputs)) * generator.uniform(0.3, 2, members)[:, None, None]
    return (targets + noise).astype(np.float32), targets


def fitted(rule: Rule, task: Task, predictions: Array, targets: Array, *, calibrate: bool = False) -> Combination:
    return fit(rule, task, predictions, targets, weights=None, calibrate=calibrate)


def on_simplex(objective: Any, members: int) -> float:
    """The minimum of a convex function of weights, by sequential quadratic programming from equal weights."""
    found = minimize(
        objective,
        np.full(members, 1 / members),
        method="SLSQP",
        bounds=[(0, 1)] * members,
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return float(found.fun)


@few
@given(seeds, st.integers(1, 5))
def test_mixture_weights_maximize_the_likelihood(seed: int, members: int) -> None:
    predictions, targets = classifiers(seed, members)
    right = predictions[:, np.arange(len(targets)), targets].astype(np.float64)

    def minus_likelihood(weights: Array) -> float:
        return float(-np.log(np.maximum(weights @ right, 1e-30)).mean())

    weights = np.array(mixture_weights(right.astype(np.float32)))
    assert weights.sum() == pytest.approx(1) and (weights >= 0).all()
    assert minus_likelihood(weights) <= on_simplex(minus_likelihood, members) + 1e-5


@few
@given(seeds, st.integers(1, 5), st.sampled_from([0.0, 1e4]))
def test_weights_of_values_minimize_the_squared_error(seed: int, members: int, offset: float) -> None:
    predictions, targets = regressors(seed, members)
    values, wanted = (predictions + np.float32(offset)).reshape(members, -1), (targets + np.float32(offset)).ravel()

    def squared_error(weights: Array) -> float:
        return float(((weights @ (values.astype(np.float64) - wanted)) ** 2).mean())

    weights = np.array(simplex_least_squares(values, wanted))
    assert weights.sum() == pytest.approx(1) and (weights >= 0).all()
    assert squared_error(weights) <= on_simplex(squared_error, members) + 1e-7


@pytest.mark.parametrize("task", list(Task))
def test_perfect_member_has_all_the_weight(task: Task) -> None:
    predictions, targets = classifiers(1) if task is CLASSES else regressors(1)
    predictions[1] = np.eye(3, dtype=np.float32)[targets] if task is CLASSES else targets
    assert fitted(Rule.WEIGHTED, task, predictions, targets).weights == pytest.approx((0, 1, 0), abs=1e-4)


@few
@given(seeds, st.floats(0.3, 4))
def test_temperature_equals_the_best_of_a_grid(seed: int, true: float) -> None:
    generator = np.random.default_rng(seed)
    scores = 2 * generator.standard_normal((300, 4))
    chances = np.asarray(softmax(scores / true, axis=1))
    targets = np.array([generator.choice(4, p=row) for row in chances])
    served = np.asarray(softmax(scores, axis=1), dtype=np.float32)

    def log_loss(degree: float) -> float:
        right = np.maximum(apply_temperature(served, degree)[np.arange(300), targets], np.finfo(np.float32).tiny)
        return float(-np.log(right, dtype=np.float64).mean())

    grid = np.exp(np.linspace(math.log(0.05), math.log(20), 400))
    found = temperature(served, targets)
    assert log_loss(found) <= min(log_loss(float(degree)) for degree in grid) + 1e-6
    assert found == pytest.approx(grid[np.argmin([log_loss(float(degree)) for degree in grid])], rel=0.03)


def test_temperature_is_bounded_and_defaults_to_one() -> None:
    targets = np.tile([0, 1], 10)
    certain = np.eye(2, dtype=np.float32)[targets]
    assert temperature(certain, targets) == 1.0
    assert temperature(np.full((20, 2), 0.5, np.float32), targets) == 1.0
    assert 19 < temperature(certain[::-1].copy(), targets) <= 20.001
    assert 0.05 <= temperature(np.full((20, 2), 0.1, np.float32) + 0.8 * certain, targets) < 0.2
    with pytest.raises(EnsembleError, match="at least one row"):
        temperature(certain[:0], targets[:0])


@few
@given(seeds, st.integers(1, 4), st.integers(2, 4))
def test_stacking_equals_scikit_learn_when_all_answer(seed: int, members: int, classes: int) -> None:
    predictions, targets = classifiers(seed, members, 80, classes)
    assume(len(np.unique(targets)) == classes)
    features = np.log(predictions).transpose(1, 0, 2).reshape(80, -1).astype(np.float64)
    theirs = LogisticRegression(C=1.0, max_iter=2000).fit(features, targets).predict_proba(features)
    ours = combine(fitted(Rule.STACKING, CLASSES, predictions, targets), predictions, range(members))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


@few
@given(seeds, st.integers(1, 4), st.integers(1, 3))
def test_stacking_of_values_equals_scikit_learn_when_all_answer(seed: int, members: int, outputs: int) -> None:
    predictions, targets = regressors(seed, members, 80, outputs)
    features = predictions.transpose(1, 0, 2).reshape(80, -1).astype(np.float64)
    theirs = Ridge(alpha=1.0).fit(features, targets).predict(features).reshape(80, outputs)
    ours = combine(fitted(Rule.STACKING, VALUES, predictions, targets), predictions, range(members))
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.parametrize("lacking", range(4))
def test_class_absent_from_the_rows_is_predicted_when_members_are_certain(lacking: int) -> None:
    predictions, targets = classifiers(4, 3, 200, 4)
    rest = targets != lacking
    combination = fitted(Rule.STACKING, CLASSES, predictions[:, rest], targets[rest])
    assert combination.stacking is not None
    assert np.shape(combination.stacking.coefficients) == (12, 4)
    sure = np.full((3, 4, 4), 1e-4, np.float32) + np.float32(1 - 4e-4) * np.eye(4, dtype=np.float32)
    np.testing.assert_array_equal(combine(combination, sure, range(3)).argmax(axis=1), range(4))


def test_calibrated_combination_has_the_temperature_of_its_predictions() -> None:
    predictions, targets = classifiers(5)
    plain, warm = (fitted(Rule.MEAN, CLASSES, predictions, targets, calibrate=choice) for choice in (False, True))
    assert plain.temperature == 1.0
    assert warm.temperature == temperature(combine(plain, predictions, range(3)), targets) != 1.0
    assert warm.weights == plain.weights == (1 / 3,) * 3


def test_given_weights_are_kept() -> None:
    predictions, targets = classifiers(5)
    given_weights = fit(Rule.WEIGHTED, CLASSES, predictions, targets, weights=(0.5, 0.5, 0.0), calibrate=False)
    assert given_weights.weights == (0.5, 0.5, 0.0)


@pytest.mark.parametrize("rule", sorted(REGRESSION_RULES))
def test_noise_is_the_squared_error_of_the_combination(rule: Rule) -> None:
    predictions, targets = regressors(6)
    combination = fitted(rule, VALUES, predictions, targets)
    off = targets - combine(combination, predictions, range(3))
    assert combination.noise_variance == pytest.approx(tuple((off.astype(np.float64) ** 2).mean(axis=0)), rel=1e-5)


def degenerate(kind: str, members: int, task: Task) -> tuple[Array, Array]:
    predictions, targets = (classifiers if task is CLASSES else regressors)(8, members, MIN_ROWS)
    if kind == "constant":
        predictions[:] = 1 / 3
    elif kind == "perfect":
        predictions[:] = np.eye(3, dtype=np.float32)[targets] if task is CLASSES else targets
    elif kind == "certain":
        predictions = np.eye(3, dtype=np.float32)[predictions.argmax(axis=2)] if task is CLASSES else predictions * 1e6
    elif kind == "wrong":
        predictions[:] = np.eye(3, dtype=np.float32)[(targets + 1) % 3] if task is CLASSES else -targets
    elif kind == "equal":
        predictions[:] = predictions[:1]
    return predictions, targets


@pytest.mark.parametrize("kind", ["constant", "perfect", "certain", "wrong", "equal", "few rows"])
@pytest.mark.parametrize("members", [1, 4])
@pytest.mark.parametrize(
    ("task", "rule"), [(CLASSES, r) for r in Rule] + [(VALUES, r) for r in sorted(REGRESSION_RULES)]
)
def test_degenerate_rows_give_a_finite_combination(kind: str, members: int, task: Task, rule: Rule) -> None:
    predictions, targets = degenerate(kind, members, task)
    combination = fitted(rule, task, predictions, targets, calibrate=task is CLASSES)
    assert len(combination.weights) == members
    assert sum(combination.weights) == pytest.approx(1) and min(combination.weights) >= 0
    assert np.isfinite([combination.temperature, *combination.noise_variance]).all()
    outputs = combine(combination, predictions, range(members))
    assert np.isfinite(outputs).all()
    assert Combination.from_json(combination.to_json()) == combination


def test_too_few_rows_are_an_error_with_both_numbers() -> None:
    predictions, targets = classifiers(1, 3, MIN_ROWS - 1)
    with pytest.raises(EnsembleError, match=f"at least {MIN_ROWS} rows, got {MIN_ROWS - 1}"):
        fitted(Rule.WEIGHTED, CLASSES, predictions, targets)


def test_nonfinite_predictions_are_an_error_that_names_the_members() -> None:
    predictions, targets = classifiers(1)
    predictions[1, 5, 0], predictions[2, 0, 1] = np.nan, np.inf
    with pytest.raises(EnsembleError, match="non-finite predictions of member 1, member 2"):
        fitted(Rule.MEAN, CLASSES, predictions, targets)


def test_stacking_on_rows_of_one_class_is_an_error() -> None:
    predictions, targets = classifiers(1)
    with pytest.raises(EnsembleError, match="only one class"):
        fitted(Rule.STACKING, CLASSES, predictions, np.zeros_like(targets))
