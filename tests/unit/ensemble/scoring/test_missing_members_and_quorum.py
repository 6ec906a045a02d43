"""Degradation: which subsets are evaluated, their scores, and which quorum is safe."""

from __future__ import annotations

import math
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import metrics

from podium.ensemble.scoring.missing_members_and_quorum import (
    SUBSETS_PER_SIZE,
    SizeScores,
    degradation,
    safe_quorum,
    subsets,
    subsets_of_size,
)
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Rule, Task

seeds = st.integers(0, 2**32)


def _probabilities(generator: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    return generator.dirichlet(np.ones(shape[-1]), shape[:-1]).astype(np.float32)


def _sizes(*worst: float, figure: str = "accuracy") -> list[SizeScores]:
    return [SizeScores(size, 1, True, {figure: value}, {figure: value}) for size, value in enumerate(worst, 1)]


@pytest.mark.parametrize("members", range(1, 11))
def test_every_subset_of_up_to_ten_members_is_evaluated(members: int) -> None:
    every = chain.from_iterable(combinations(range(members), size) for size in range(1, members + 1))
    assert list(subsets(members, 0)) == list(every)


@given(st.integers(11, 40), seeds)
def test_sample_of_every_size_is_evaluated_for_more_members(members: int, seed: int) -> None:
    found = list(subsets(members, seed))
    assert len(set(found)) == len(found) <= SUBSETS_PER_SIZE * members
    assert found == list(subsets(members, seed))
    for size in range(1, members + 1):
        of_size = [subset for subset in found if len(subset) == size]
        assert len(of_size) == subsets_of_size(members, size) <= math.comb(members, size)
        assert all(list(subset) == sorted(set(subset)) for subset in of_size)
        assert all(subset[0] >= 0 and subset[-1] < members for subset in of_size)
    assert found[-1] == tuple(range(members))


def test_number_of_subsets_is_bounded() -> None:
    assert sum(subsets_of_size(1000, size) for size in range(1, 1001)) <= 2048


@given(seeds, st.integers(1, 4), st.integers(1, 40))
def test_subset_score_equals_the_score_of_its_ensemble(seed: int, members: int, rows: int) -> None:
    generator = np.random.default_rng(seed)
    predictions, targets = _probabilities(generator, members, rows, 3), generator.integers(0, 3, rows)
    weights = generator.dirichlet(np.ones(members))
    combination = Combination(Task.CLASSIFICATION, Rule.WEIGHTED, tuple(weights.tolist()))
    found = degradation(combination, predictions, targets, best_member=0, seed=0)
    for subset in found.subsets:
        chosen = list(subset.answered)
        combined = np.average(predictions[chosen].astype(np.float64), axis=0, weights=weights[chosen])
        combined /= combined.sum(axis=1, keepdims=True)
        if np.diff(np.sort(combined, axis=1)[:, -2:]).min() > 1e-5:  # excludes ties that depend on rounding
            assert subset.scores["accuracy"] == metrics.accuracy_score(targets, combined.argmax(axis=1))
        assert subset.scores["log_loss"] == pytest.approx(
            metrics.log_loss(targets, combined, labels=[0, 1, 2]), rel=1e-4, abs=1e-5
        )


def test_values_are_scored_by_their_rmse() -> None:
    predictions = np.array([[[1.0]], [[-3.0]]], np.float32)
    combination = Combination(Task.REGRESSION, Rule.MEAN, (0.5, 0.5))
    found = degradation(combination, predictions, np.zeros((1, 1), np.float32), best_member=0, seed=0)
    assert {subset.answered: subset.scores for subset in found.subsets} == {
        (0,): {"rmse": 1.0},
        (1,): {"rmse": 3.0},
        (0, 1): {"rmse": 1.0},
    }
    assert found.sizes == (
        SizeScores(1, 2, True, worst={"rmse": 3.0}, mean={"rmse": 2.0}),
        SizeScores(2, 1, True, worst={"rmse": 1.0}, mean={"rmse": 1.0}),
    )
    assert found.safe_quorum == 2


@given(seeds, st.integers(1, 6))
def test_worst_and_mean_are_computed_per_size(seed: int, members: int) -> None:
    generator = np.random.default_rng(seed)
    predictions, targets = _probabilities(generator, members, 20, 3), generator.integers(0, 3, 20)
    combination = Combination(Task.CLASSIFICATION, Rule.MEAN, (1 / members,) * members)
    found = degradation(combination, predictions, targets, best_member=0, seed=0)
    assert [size.answered for size in found.sizes] == list(range(1, members + 1))
    for size in found.sizes:
        scores = [subset.scores for subset in found.subsets if len(subset.answered) == size.answered]
        assert size.subsets == len(scores) == math.comb(members, size.answered)
        assert size.every_subset
        assert size.worst["accuracy"] == min(score["accuracy"] for score in scores)
        assert size.worst["log_loss"] == max(score["log_loss"] for score in scores)
        assert size.mean["accuracy"] == pytest.approx(np.mean([score["accuracy"] for score in scores]))


def test_sample_is_marked_as_one() -> None:
    generator = np.random.default_rng(0)
    predictions, targets = _probabilities(generator, 12, 10, 2), generator.integers(0, 2, 10)
    combination = Combination(Task.CLASSIFICATION, Rule.MEAN, (1 / 12,) * 12)
    found = degradation(combination, predictions, targets, best_member=0, seed=0)
    assert [size.answered for size in found.sizes if size.every_subset] == [1, 11, 12]


def test_safe_quorum_is_the_smallest_never_worse_than_the_best_member() -> None:
    best = {"accuracy": 0.8}
    assert safe_quorum(_sizes(0.6, 0.79, 0.81, 0.85), best) == 3
    assert safe_quorum(_sizes(0.6, 0.79, 0.8, 0.85), best) == 3
    assert safe_quorum(_sizes(0.8, 0.8, 0.8), best) == 1


def test_ensemble_worse_than_its_best_member_has_no_safe_quorum() -> None:
    assert safe_quorum(_sizes(0.6, 0.7), {"accuracy": 0.8}) is None


def test_quorum_is_not_safe_when_a_larger_subset_is_worse() -> None:
    assert safe_quorum(_sizes(0.6, 0.85, 0.79, 0.9), {"accuracy": 0.8}) == 4
    assert safe_quorum(_sizes(0.6, 0.85, 0.79), {"accuracy": 0.8}) is None


def test_lower_rmse_is_better_and_rounding_is_ignored() -> None:
    assert safe_quorum(_sizes(3.0, 2.0, 1.0, figure="rmse"), {"rmse": 2.0 - 1e-9}) == 2
    assert safe_quorum(_sizes(3.0, 2.0, 1.0, figure="rmse"), {"rmse": 1.99}) == 3
