"""Selection: the k best by the metric, greedy as in AutoGluon, diverse; too few candidates are an error."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, mean_squared_error

from podium.ensemble.building import member_selection
from podium.ensemble.building.member_selection import Candidate, Score, diverse, greedy
from podium.ensemble.values.ensemble_spec import Task
from podium.sweep.values.errors import EnsembleError

Array = NDArray[Any]
# Few distinct values, so that ties are common.
values = st.one_of(st.sampled_from([0.0, 0.5, -0.0, 1.0]), st.floats(allow_nan=False), st.just(math.nan))
candidates = st.lists(values, max_size=12).map(
    lambda found: [Candidate(100 + number, number, value) for number, value in enumerate(found)]
)
goals = st.sampled_from(["maximize", "minimize"])
tasks = st.sampled_from(list(Task))
seeds = st.integers(0, 2**32 - 1)


def top_k(found: Sequence[Candidate], k: int, goal: str) -> list[Candidate]:
    chosen = member_selection.top_k(found, k, goal)
    assert sum(chosen.weights) == pytest.approx(1) and len(set(chosen.weights)) == 1
    return [found[position] for position in chosen.chosen]


def _better(one: float, other: float, goal: str) -> bool:
    return one > other if goal == "maximize" else one < other


@given(candidates, goals, st.data())
def test_no_omitted_candidate_is_better_than_a_selected_one(
    found: list[Candidate], goal: str, data: st.DataObject
) -> None:
    valid = [c for c in found if not math.isnan(c.value)]
    assume(valid)
    k = data.draw(st.integers(1, len(valid)))
    chosen = top_k(found, k, goal)
    assert len(chosen) == len(set(chosen)) == k
    assert not any(math.isnan(c.value) for c in chosen)
    left = [c for c in valid if c not in chosen]
    assert not any(_better(out.value, member.value, goal) for out in left for member in chosen)
    assert not any(out.value == member.value and out.number < member.number for out in left for member in chosen)


@given(candidates, goals)
def test_best_is_first_and_ties_go_to_the_earlier_trial(found: list[Candidate], goal: str) -> None:
    valid = [c for c in found if not math.isnan(c.value)]
    assume(valid)
    chosen = top_k(found, len(valid), goal)
    for one, following in pairwise(chosen):
        assert not _better(following.value, one.value, goal)
        assert one.value != following.value or one.number < following.number


@given(candidates, goals, st.randoms())
def test_order_of_candidates_does_not_matter(found: list[Candidate], goal: str, random: Random) -> None:
    k = sum(not math.isnan(c.value) for c in found) // 2
    assume(k)
    shuffled = sorted(found, key=lambda _: random.random())
    assert top_k(shuffled, k, goal) == top_k(found, k, goal)


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
@pytest.mark.parametrize(
    ("found", "k", "available"),
    [([], 1, 0), ([0.5], 2, 1), ([0.5, math.nan, math.nan], 2, 1), ([math.nan], 1, 0)],
)
def test_fewer_than_k_is_an_error_with_both_numbers(found: list[float], k: int, available: int, goal: str) -> None:
    with pytest.raises(EnsembleError, match=f"k is {k}, but only {available} finished trials"):
        top_k([Candidate(n, n, value) for n, value in enumerate(found)], k, goal)


def test_infinite_values_are_valid() -> None:
    found = [Candidate(n, n, value) for n, value in enumerate([0.0, math.inf, -math.inf])]
    assert [c.number for c in top_k(found, 3, "maximize")] == [1, 0, 2]
    assert [c.number for c in top_k(found, 3, "minimize")] == [2, 0, 1]


def classifiers(seed: int, members: int, rows: int, classes: int) -> tuple[Array, Array]:
    """Probabilities that favor the target. `RandomState` draws the same numbers in every version of numpy."""
    state = np.random.RandomState(seed)
    targets = state.randint(classes, size=rows)
    scores = state.normal(size=(members, rows, classes))
    scores[:, np.arange(rows), targets] += 1.0
    powers = np.exp(scores)
    return (powers / powers.sum(axis=2, keepdims=True)).astype(np.float32), targets


def regressors(seed: int, members: int, rows: int, outputs: int) -> tuple[Array, Array]:
    state = np.random.RandomState(seed)
    targets = state.normal(size=(rows, outputs))
    return (targets + state.normal(size=(members, rows, outputs))).astype(np.float32), targets.astype(np.float32)


def trials(task: Task, seed: int, members: int, rows: int, outputs: int) -> tuple[Array, Array]:
    return (classifiers if task is Task.CLASSIFICATION else regressors)(seed, members, rows, outputs)


def loss(score: Score, bag: Sequence[int], predictions: Array, targets: Array) -> float:
    """The loss of the mean prediction of the bag."""
    mean = np.mean([predictions[position].astype(np.float64) for position in bag], axis=0)
    match score:
        case Score.LOG_LOSS:
            return float(np.mean([-math.log(row[target]) for row, target in zip(mean, targets, strict=True)]))
        case Score.ERROR_RATE:
            return 1 - float(accuracy_score(targets, mean.argmax(axis=1)))
        case Score.SQUARED_ERROR:
            return float(mean_squared_error(targets, mean))


def brute_force(score: Score, predictions: Array, targets: Array, k: int, rounds: int) -> list[int]:
    """Caruana et al. 2004, section 2, one candidate at a time: the best prefix of the bag."""
    bag: list[int] = []
    scores: list[float] = []
    for _ in range(rounds):
        allowed = range(len(predictions)) if len(set(bag)) < k else sorted(set(bag))
        found = {position: round(loss(score, [*bag, position], predictions, targets), 9) for position in allowed}
        bag.append(min(found, key=lambda position: (found[position], position)))
        scores.append(found[bag[-1]])
    return bag[: scores.index(min(scores)) + 1]


@pytest.mark.parametrize("score", list(Score))
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [1, 3, 6])
def test_greedy_equals_the_brute_force_search(score: Score, seed: int, k: int) -> None:
    task = Task.REGRESSION if score is Score.SQUARED_ERROR else Task.CLASSIFICATION
    predictions, targets = trials(task, seed, 6, 21, 3)
    found = greedy(predictions, targets, k=k, task=task, rounds=12, score=score)
    bag = brute_force(score, predictions, targets, k, 12)
    assert [step.position for step in found.path] == bag
    for length, step in enumerate(found.path, 1):
        assert step.score == pytest.approx(loss(score, bag[:length], predictions, targets), rel=1e-6, abs=1e-9)
    assert dict(zip(found.chosen, found.weights, strict=True)) == pytest.approx(
        {position: count / len(bag) for position, count in Counter(bag).items()}
    )


@pytest.mark.parametrize(
    ("task", "seed", "counts"),
    [
        (Task.CLASSIFICATION, 1, [1, 4, 0, 0, 0, 6, 0, 0, 2, 4, 6, 0]),
        (Task.CLASSIFICATION, 2, [0, 5, 3, 0, 0, 0, 4, 3, 0, 1, 0, 0]),
        (Task.CLASSIFICATION, 3, [0, 0, 0, 7, 0, 0, 0, 1, 0, 9, 0, 7]),
        (Task.REGRESSION, 1, [2, 3, 2, 2, 2, 1, 2, 2, 2, 2, 3, 2]),
        (Task.REGRESSION, 2, [2, 1, 2, 2, 2, 3, 1, 1, 2, 3, 4, 2]),
        (Task.REGRESSION, 3, [2, 2, 1, 1, 2, 2, 2, 1, 2, 1, 1, 0]),
    ],
)
def test_greedy_finds_the_weights_of_autogluon(task: Task, seed: int, counts: list[int]) -> None:
    """The counts were computed with `EnsembleSelection` of autogluon.core 1.6.3.

    `EnsembleSelection(ensemble_size=25, problem_type="multiclass", metric=log_loss)`, or "regression" with
    mean_squared_error, fitted on these predictions as float64; the counts are its `weights_ * ensemble_size`.
    """
    predictions, targets = trials(task, seed, 12, 60, 4 if task is Task.CLASSIFICATION else 1)
    found = greedy(predictions, targets, k=12, task=task, rounds=25)
    weights = np.zeros(12)
    weights[list(found.chosen)] = found.weights
    np.testing.assert_allclose(weights, np.array(counts) / sum(counts), atol=1e-12)


@given(tasks, seeds, st.integers(1, 8), st.integers(0, 3), st.data())
def test_greedy_selects_at_most_k_with_weights_that_sum_to_one(
    task: Task, seed: int, members: int, bags: int, data: st.DataObject
) -> None:
    predictions, targets = trials(task, seed, members, 15, 3)
    k = data.draw(st.integers(1, members))
    found = greedy(predictions, targets, k=k, task=task, bags=bags, rounds=10)
    assert 1 <= len(found.chosen) == len(set(found.chosen)) <= k
    assert sum(found.weights) == pytest.approx(1) and min(found.weights) > 0
    assert list(found.weights) == sorted(found.weights, reverse=True)
    assert (len(found.chosen) == k) == (not found.note)


@settings(max_examples=30)
@given(tasks, seeds, st.integers(1, 6))
def test_greedy_is_never_worse_than_the_best_single_trial(task: Task, seed: int, k: int) -> None:
    predictions, targets = trials(task, seed, 6, 15, 3)
    found = greedy(predictions, targets, k=k, task=task)
    score = Score.LOG_LOSS if task is Task.CLASSIFICATION else Score.SQUARED_ERROR
    alone = [loss(score, [position], predictions, targets) for position in range(6)]
    assert found.path[0].position == int(np.argmin(alone))
    assert found.path[-1].score <= min(alone) * (1 + 1e-6)


def test_greedy_in_small_blocks_finds_the_same() -> None:
    predictions, targets = classifiers(7, 9, 40, 3)
    whole = greedy(predictions, targets, k=4, task=Task.CLASSIFICATION)
    assert greedy(predictions, targets, k=4, task=Task.CLASSIFICATION, block_values=100) == whole


def test_bags_are_determined_by_the_seed() -> None:
    predictions, targets = classifiers(7, 12, 40, 3)
    once, again, other = (
        greedy(predictions, targets, k=3, task=Task.CLASSIFICATION, bags=5, seed=seed) for seed in (1, 1, 2)
    )
    assert once == again
    assert once.path != other.path
    assert len({step.position for step in once.path}) > 3 == len(once.chosen)


@pytest.mark.parametrize("task", list(Task))
def test_first_of_identical_trials_is_selected_alone(task: Task) -> None:
    predictions, targets = trials(task, 5, 1, 15, 3)
    found = greedy(np.repeat(predictions, 4, axis=0), targets, k=3, task=task)
    assert (found.chosen, found.weights) == ((0,), (1.0,))
    assert len(found.path) == 1
    assert found.note.startswith("1 of 3")


def test_zero_probability_is_a_large_loss_without_a_warning() -> None:
    predictions = np.eye(2, dtype=np.float32)[[[0, 1, 0], [1, 0, 1]]]
    found = greedy(predictions, np.array([0, 1, 1]), k=2, task=Task.CLASSIFICATION)
    assert found.path[0].position == 0
    assert all(math.isfinite(step.score) for step in found.path)


@pytest.mark.parametrize("method", [greedy, diverse])
@pytest.mark.parametrize("task", list(Task))
def test_trials_with_nonfinite_predictions_are_never_selected(method: Any, task: Task) -> None:
    predictions, targets = trials(task, 5, 4, 15, 3)
    predictions[1, 3, 0] = np.nan
    predictions[2, 3, 0] = np.inf
    assert set(method(predictions, targets, k=2, task=task).chosen) <= {0, 3}
    with pytest.raises(EnsembleError, match="k is 3, but only 2 of 4 trials saved finite predictions"):
        method(predictions, targets, k=3, task=task)
    with pytest.raises(EnsembleError, match="k is 5, but only 4"):
        method(predictions, targets, k=5, task=task)


def diverse_reference(predictions: Array, targets: Array, k: int, task: Task, diversity: float) -> list[int]:
    """The rule of `diverse`, pair by pair."""
    if task is Task.CLASSIFICATION:
        scores = [float((one.argmax(axis=1) == targets).mean()) for one in predictions]
    else:
        scores = [
            1 - float(((one - targets) ** 2).sum() / ((targets - targets.mean(axis=0)) ** 2).sum())
            for one in predictions
        ]

    def apart(one: int, other: int) -> float:
        if task is Task.CLASSIFICATION:
            return float((predictions[one].argmax(axis=1) != predictions[other].argmax(axis=1)).mean())
        residuals = [(predictions[position] - targets).ravel() for position in (one, other)]
        return 1 - float(np.corrcoef(residuals)[0, 1])

    chosen = [int(np.argmax(scores))]
    while len(chosen) < k:
        left = [position for position in range(len(predictions)) if position not in chosen]
        chosen.append(
            max(
                left,
                key=lambda position: round(
                    (1 - diversity) * scores[position]
                    + diversity * sum(apart(position, other) for other in chosen) / len(chosen),
                    9,
                ),
            )
        )
    return chosen


@pytest.mark.parametrize("task", list(Task))
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("diversity", [0.0, 0.3, 1.0])
def test_diverse_equals_the_reference(task: Task, seed: int, diversity: float) -> None:
    predictions, targets = trials(task, seed, 8, 37, 3)
    found = diverse(predictions, targets, k=5, task=task, diversity=diversity)
    assert list(found.chosen) == diverse_reference(predictions, targets, 5, task, diversity)
    assert found.weights == (0.2,) * 5
    assert [step.position for step in found.path] == list(found.chosen)


def test_diverse_prefers_a_different_model_to_a_copy_of_the_best() -> None:
    predictions, targets = classifiers(3, 5, 50, 3)
    best = diverse(predictions, targets, k=1, task=Task.CLASSIFICATION).chosen[0]
    predictions[(best + 1) % 5] = predictions[best]
    assert (best + 1) % 5 not in diverse(predictions, targets, k=2, task=Task.CLASSIFICATION, diversity=0.6).chosen


def test_positions_refer_to_all_candidates_when_a_pool_is_given() -> None:
    predictions, targets = classifiers(3, 3, 20, 3)
    found = diverse(predictions, targets, k=2, task=Task.CLASSIFICATION)
    among = found.reindexed([7, 5, 9])
    assert among.chosen == tuple([7, 5, 9][position] for position in found.chosen)
    assert [step.position for step in among.path] == list(among.chosen)
    assert among.weights == found.weights
