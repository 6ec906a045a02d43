"""Combination: rules equal their float64 reference, weights renormalize, results are bitwise equal, entropy adds up.

The reference implements the rules in float64, member by member and row by row where that is clearer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from scipy.special import softmax

from podium.ensemble.scoring import combine as combine_module
from podium.ensemble.scoring.combine import apply_temperature, combine, effective_weights, uncertainty
from podium.ensemble.values.ensemble_snapshot import Combination, Stacking
from podium.ensemble.values.ensemble_spec import REGRESSION_RULES, Rule, Task

Array = NDArray[np.float32]
TINY = float(np.finfo(np.float32).tiny)
UNWEIGHTED = (Rule.MEDIAN, Rule.TRIMMED_MEAN, Rule.STACKING)
rules = st.sampled_from(list(Rule))
averages = st.sampled_from([rule for rule in Rule if rule not in (Rule.STACKING, Rule.HARD_VOTE)])
seeds = st.integers(0, 2**32)
weights_of = st.lists(st.one_of(st.just(0.0), st.floats(2**-10, 2**10)), min_size=1, max_size=12)


def probabilities(shape: tuple[int, int, int], seed: int, sharpness: float = 1.0) -> Array:
    """(members, rows, classes); with a sharpness of 300 some of them are 0 and 1."""
    logits = sharpness * np.random.default_rng(seed).standard_normal(shape)
    return np.asarray(softmax(logits, axis=-1), dtype=np.float32)


def stacking_of(inputs: int, outputs: int, seed: int) -> Stacking:
    generator = np.random.default_rng(seed)
    coefficients = generator.normal(0, 0.3, (inputs, outputs)).tolist()
    return Stacking(tuple(map(tuple, coefficients)), tuple(generator.normal(0, 0.3, outputs).tolist()))


@st.composite
def cases(draw: st.DrawFn, rule: st.SearchStrategy[Rule] = rules) -> tuple[Combination, Array, list[int]]:
    """A combination of classes, the predictions of the members that answered, and their positions."""
    weights = draw(weights_of)
    answered = sorted(draw(st.sets(st.integers(0, len(weights) - 1), min_size=1)))
    rows, classes, seed = draw(st.integers(1, 4)), draw(st.integers(2, 5)), draw(seeds)
    chosen = draw(rule)
    stacking = stacking_of(len(weights) * classes, classes, seed) if chosen is Rule.STACKING else None
    warmth = draw(st.sampled_from([1.0, 1.0, 0.5, 2.5]))
    combination = Combination(Task.CLASSIFICATION, chosen, tuple(weights), temperature=warmth, stacking=stacking)
    return (
        combination,
        probabilities((len(answered), rows, classes), seed, draw(st.sampled_from([0.1, 1, 300]))),
        answered,
    )


def _reference_weights(combination: Combination, answered: Sequence[int]) -> NDArray[np.float64]:
    mine = np.array([combination.weights[position] for position in answered])
    if combination.rule in UNWEIGHTED or mine.sum() == 0:
        mine = np.ones(len(answered))
    return np.asarray(mine / mine.sum())


def _reference_stacking(
    combination: Combination, inputs: NDArray[np.float64], answered: Sequence[int]
) -> NDArray[np.float64]:
    assert combination.stacking is not None
    coefficients, intercept = np.array(combination.stacking.coefficients), np.array(combination.stacking.intercept)
    said = {member: inputs[place] for place, member in enumerate(answered)}
    scores = np.tile(intercept, (inputs.shape[1], 1))
    for member in range(len(combination.weights)):
        mine = coefficients[member * inputs.shape[2] : (member + 1) * inputs.shape[2]]
        scores = scores + said.get(member, inputs.mean(axis=0)) @ mine
    return scores


def reference(combination: Combination, predictions: Array, answered: Sequence[int]) -> NDArray[np.float64]:
    """The result of `combine`, but in float64."""
    said = predictions.astype(np.float64)
    logs = np.log(np.maximum(said, TINY)) if combination.task is Task.CLASSIFICATION else said
    weights = _reference_weights(combination, answered)
    match combination.rule:
        case Rule.MEAN | Rule.WEIGHTED:
            outputs = np.average(said, axis=0, weights=weights)
        case Rule.LOGIT_MEAN:
            outputs = softmax(np.average(logs, axis=0, weights=weights), axis=-1)
        case Rule.MEDIAN:
            outputs = np.median(said, axis=0)
        case Rule.TRIMMED_MEAN:
            outputs = stats.trim_mean(said, 1.001 / len(said), axis=0) if len(said) > 2 else said.mean(axis=0)
        case Rule.HARD_VOTE:
            votes = np.eye(said.shape[2])[said.argmax(axis=2)]
            outputs = np.average(votes, axis=0, weights=weights)
        case Rule.STACKING:
            outputs = _reference_stacking(combination, logs, answered)
    if combination.task is Task.REGRESSION:
        return np.asarray(outputs)
    if combination.rule is Rule.STACKING:
        outputs = softmax(outputs, axis=-1)
    nothing_left = outputs.sum(axis=1, keepdims=True) < TINY
    outputs = np.where(nothing_left, said.mean(axis=0), outputs)
    powers = np.maximum(outputs / outputs.sum(axis=1, keepdims=True), TINY) ** (1 / combination.temperature)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@given(cases(st.sampled_from([rule for rule in Rule if rule is not Rule.STACKING])))
def test_every_rule_equals_the_float64_reference(case: tuple[Combination, Array, list[int]]) -> None:
    found = combine(*case)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, reference(*case), atol=2e-6)


@given(st.integers(1, 4), st.data(), seeds)
def test_stacking_equals_the_float64_reference(members: int, data: st.DataObject, seed: int) -> None:
    answered = sorted(data.draw(st.sets(st.integers(0, members - 1), min_size=1)))
    combination = Combination(
        Task.CLASSIFICATION, Rule.STACKING, (1 / members,) * members, stacking=stacking_of(members * 3, 3, seed)
    )
    predictions = probabilities((len(answered), 5, 3), seed)
    np.testing.assert_allclose(
        combine(combination, predictions, answered), reference(combination, predictions, answered), atol=1e-6
    )


@given(st.sampled_from(sorted(REGRESSION_RULES)), weights_of, st.data(), seeds)
def test_every_rule_of_values_equals_the_float64_reference(
    rule: Rule, weights: list[float], data: st.DataObject, seed: int
) -> None:
    answered = sorted(data.draw(st.sets(st.integers(0, len(weights) - 1), min_size=1)))
    stacking = stacking_of(len(weights) * 2, 2, seed) if rule is Rule.STACKING else None
    combination = Combination(Task.REGRESSION, rule, tuple(weights), stacking=stacking)
    values = np.random.default_rng(seed).standard_normal((len(answered), 3, 2)).astype(np.float32)
    found = combine(combination, values, answered)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, reference(combination, values, answered), atol=3e-6)


@given(cases())
def test_probabilities_sum_to_one(case: tuple[Combination, Array, list[int]]) -> None:
    found = combine(*case)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1, dtype=np.float64), 1, atol=1e-5)


@given(cases())
def test_weights_keep_their_proportions_and_sum_to_one(case: tuple[Combination, Array, list[int]]) -> None:
    combination, _, answered = case
    used = effective_weights(combination, answered)
    assert sum(used) == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(used, _reference_weights(combination, answered), rtol=1e-6)


@given(cases(), st.randoms(use_true_random=False))
def test_order_of_arrival_does_not_change_a_bit(case: tuple[Combination, Array, list[int]], random: object) -> None:
    combination, predictions, answered = case
    arrived = dict(zip(answered, predictions.copy(), strict=True))
    shuffled = sorted(arrived, key=lambda _: random.random())  # type: ignore[attr-defined]
    joined = np.stack([arrived[member] for member in sorted(shuffled)])
    assert combine(combination, joined, sorted(shuffled)).tobytes() == combine(*case).tobytes()


@given(cases(averages), seeds)
def test_row_does_not_depend_on_its_batch(case: tuple[Combination, Array, list[int]], seed: int) -> None:
    combination, predictions, answered = case
    whole = combine(combination, predictions, answered)
    row = seed % predictions.shape[1]
    alone = combine(combination, np.ascontiguousarray(predictions[:, row : row + 1]), answered)
    np.testing.assert_allclose(alone[0], whole[row], atol=1e-7)


@given(weights_of, st.integers(2, 9) | st.just(2 * combine_module.MANY_ELEMENTS), seeds)
def test_mean_of_one_value_is_bitwise_equal_to_its_mean_in_a_batch(weights: list[float], rows: int, seed: int) -> None:
    combination = Combination(Task.REGRESSION, Rule.MEAN, tuple(weights))
    values = np.random.default_rng(seed).standard_normal((len(weights), rows, 1)).astype(np.float32)
    everyone = range(len(weights))
    alone = combine(combination, values[:, :1].copy(), everyone)
    assert alone.tobytes() == combine(combination, values, everyone)[:1].tobytes()


@given(cases(averages))
def test_identical_predictions_are_not_changed(case: tuple[Combination, Array, list[int]]) -> None:
    combination, predictions, answered = case
    plain = Combination(combination.task, combination.rule, combination.weights)
    same = np.repeat(predictions[:1], len(answered), axis=0)
    np.testing.assert_allclose(combine(plain, same, answered), predictions[0], atol=2e-6)


@pytest.mark.parametrize("rule", [Rule.MEAN, Rule.WEIGHTED])
def test_single_member_is_not_changed_by_a_bit(rule: Rule) -> None:
    predictions = probabilities((1, 4, 3), 0)
    combination = Combination(Task.CLASSIFICATION, rule, (0.2, 0.3, 0.5))
    np.testing.assert_array_equal(combine(combination, predictions, [1]), predictions[0])


@pytest.mark.parametrize("rule", [Rule.MEDIAN, Rule.TRIMMED_MEAN])
def test_members_certain_of_different_classes_yield_their_mean(rule: Rule) -> None:
    predictions = np.eye(3, dtype=np.float32)[:, None, :]
    found = combine(Combination(Task.CLASSIFICATION, rule, (1 / 3,) * 3), predictions, range(3))
    np.testing.assert_allclose(found, 1 / 3, rtol=1e-6)


def test_members_of_zero_weight_count_equally_when_only_they_answer() -> None:
    combination = Combination(Task.CLASSIFICATION, Rule.WEIGHTED, (1.0, 0.0, 0.0))
    predictions = probabilities((2, 4, 3), 1)
    assert effective_weights(combination, [1, 2]) == (0.5, 0.5)
    np.testing.assert_allclose(combine(combination, predictions, [1, 2]), predictions.mean(axis=0), atol=1e-7)


def test_nothing_is_trimmed_below_three_answers() -> None:
    values = np.array([[[0.0]], [[1.0]], [[8.0]]], np.float32)
    combination = Combination(Task.REGRESSION, Rule.TRIMMED_MEAN, (1 / 3,) * 3)
    assert combine(combination, values, range(3)).item() == 1.0
    assert combine(combination, values[1:], [1, 2]).item() == 4.5


def test_tied_vote_goes_to_the_first_class() -> None:
    predictions = np.array([[[0.1, 0.2, 0.7]], [[0.1, 0.7, 0.2]], [[0.4, 0.4, 0.2]]], np.float32)
    combination = Combination(Task.CLASSIFICATION, Rule.HARD_VOTE, (0.25, 0.25, 0.5))
    np.testing.assert_array_equal(combine(combination, predictions[:2], [0, 1]), [[0, 0.5, 0.5]])
    assert combine(combination, predictions[:2], [0, 1]).argmax() == 1
    np.testing.assert_array_equal(combine(combination, predictions, range(3)), [[0.5, 0.25, 0.25]])


@given(st.integers(2, 6), seeds)
def test_temperature_of_one_is_the_identity(classes: int, seed: int) -> None:
    predictions = probabilities((1, 5, classes), seed)[0]
    np.testing.assert_allclose(apply_temperature(predictions, 1.0), predictions, atol=1e-6)


@given(st.integers(2, 6), seeds, st.floats(0.1, 10), st.floats(0.1, 10))
def test_temperatures_multiply_and_keep_the_likeliest_class(classes: int, seed: int, one: float, other: float) -> None:
    predictions = probabilities((1, 5, classes), seed, 0.5)[0]
    np.testing.assert_allclose(
        apply_temperature(apply_temperature(predictions, max(one, 1.0)), other),
        apply_temperature(predictions, max(one, 1.0) * other),
        atol=1e-4,
    )
    likeliest = predictions.argmax(axis=1)
    warm = apply_temperature(predictions, one)
    np.testing.assert_array_equal(warm[np.arange(5), likeliest], warm.max(axis=1))


@given(cases(st.just(Rule.MEAN)))
def test_entropy_is_expected_entropy_plus_mutual_information(case: tuple[Combination, Array, list[int]]) -> None:
    combination, predictions, answered = case
    plain = Combination(Task.CLASSIFICATION, Rule.MEAN, combination.weights)
    doubt = uncertainty(plain, predictions, combine(plain, predictions, answered), answered)
    weights = _reference_weights(plain, answered)
    entropies = stats.entropy(predictions.astype(np.float64), axis=-1)
    total = stats.entropy(reference(plain, predictions, answered), axis=-1)
    assert doubt.entropy is not None and doubt.mutual_information is not None
    np.testing.assert_allclose(doubt.entropy, total, atol=2e-5)
    np.testing.assert_allclose(doubt.mutual_information, total - weights @ entropies, atol=4e-5)
    assert (doubt.mutual_information >= 0).all()


@pytest.mark.parametrize("rule", list(Rule))
def test_agreeing_members_have_no_mutual_information_at_any_temperature(rule: Rule) -> None:
    stacking = stacking_of(9, 3, 0) if rule is Rule.STACKING else None
    combination = Combination(Task.CLASSIFICATION, rule, (0.2, 0.3, 0.5), temperature=3.0, stacking=stacking)
    predictions = np.tile(np.array([[0.7, 0.2, 0.1]], np.float32), (3, 1, 1))
    doubt = uncertainty(combination, predictions, combine(combination, predictions, range(3)), range(3))
    assert doubt.mutual_information == pytest.approx(0, abs=1e-6)


def test_members_certain_of_different_classes_have_only_mutual_information() -> None:
    predictions = np.eye(2, dtype=np.float32)[:, None, :]
    combination = Combination(Task.CLASSIFICATION, Rule.MEAN, (0.5, 0.5))
    doubt = uncertainty(combination, predictions, combine(combination, predictions, range(2)), range(2))
    assert doubt.entropy == pytest.approx(np.log(2), rel=1e-6)
    assert doubt.mutual_information == pytest.approx(np.log(2), rel=1e-6)


def test_variance_of_values_is_noise_plus_member_variance() -> None:
    values = np.array([[[1.0, 0.0]], [[3.0, 0.0]]], np.float32)
    combination = Combination(Task.REGRESSION, Rule.WEIGHTED, (0.25, 0.75), noise_variance=(0.5, 2.0))
    doubt = uncertainty(combination, values, combine(combination, values, range(2)), range(2))
    np.testing.assert_allclose(doubt.disagreement, [[0.75, 0]])  # type: ignore[arg-type]
    np.testing.assert_allclose(doubt.variance, [[1.25, 2]])  # type: ignore[arg-type]
    assert doubt.entropy is None and doubt.mutual_information is None
