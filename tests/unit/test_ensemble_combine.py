"""Combination: weights renormalize, the same replies give the same bits, uncertainty splits into its two parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from ensemble import combine

EPS = float(np.finfo(np.float32).eps)
weights_of = st.lists(st.floats(2**-10, 2**10, width=32), min_size=1, max_size=8)


@st.composite
def ensembles(draw: st.DrawFn) -> tuple[NDArray[np.float32], list[float]]:
    """Probabilities (members, rows, classes), some of them certain, and a weight for each member."""
    weights = draw(weights_of)
    rows, classes = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    sharpness = draw(st.sampled_from([0.1, 1.0, 300.0]))
    logits = sharpness * generator.standard_normal((len(weights), rows, classes))
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return (shifted / shifted.sum(axis=-1, keepdims=True)).astype(np.float32), weights


@given(weights_of)
def test_weights_renormalize_to_one_and_keep_their_proportions(weights: list[float]) -> None:
    normalized = combine.renormalized(weights)
    assert normalized.dtype == np.float32
    assert normalized.sum(dtype=np.float64) == pytest.approx(1, abs=len(weights) * EPS)
    np.testing.assert_allclose(normalized, np.array(weights) / sum(weights), rtol=1e-5)


@given(ensembles())
def test_the_mean_is_that_of_float64(ensemble: tuple[NDArray[np.float32], list[float]]) -> None:
    predictions, weights = ensemble
    combined = combine.mean(predictions, weights)
    expected = np.average(predictions.astype(np.float64), axis=0, weights=weights)
    assert combined.dtype == np.float32
    np.testing.assert_allclose(combined, expected, atol=1e-6)
    np.testing.assert_allclose(combined.sum(axis=-1), 1, atol=1e-5)


@given(ensembles())
def test_the_same_replies_give_the_same_bits(ensemble: tuple[NDArray[np.float32], list[float]]) -> None:
    predictions, weights = ensemble
    arrived = {member: predictions[member].copy() for member in reversed(range(len(weights)))}
    in_member_order = np.stack([arrived[member] for member in range(len(weights))])
    assert combine.mean(in_member_order, weights).tobytes() == combine.mean(predictions, weights).tobytes()


@given(ensembles(), st.integers(0, 2**32))
def test_a_row_does_not_depend_on_the_rows_beside_it(
    ensemble: tuple[NDArray[np.float32], list[float]], seed: int
) -> None:
    predictions, weights = ensemble
    order = np.random.default_rng(seed).permutation(predictions.shape[1])
    whole = combine.mean(predictions, weights)
    assert combine.mean(predictions[:, order], weights).tobytes() == whole[order].tobytes()


@given(ensembles())
def test_one_member_alone_is_the_ensemble(ensemble: tuple[NDArray[np.float32], list[float]]) -> None:
    predictions, weights = ensemble
    np.testing.assert_array_equal(combine.mean(predictions[:1], weights[:1]), predictions[0])


def test_a_weight_too_many_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        combine.mean(np.full((2, 1, 2), 0.5, np.float32), [1.0, 1.0, 1.0])


@given(ensembles())
def test_entropy_is_expected_entropy_plus_mutual_information(
    ensemble: tuple[NDArray[np.float32], list[float]],
) -> None:
    predictions, weights = ensemble
    combined = combine.mean(predictions, weights)
    doubt = combine.uncertainty(predictions, combined, weights)
    total = stats.entropy(combined.astype(np.float64), axis=-1)
    expected = np.average(stats.entropy(predictions.astype(np.float64), axis=-1), axis=0, weights=weights)
    np.testing.assert_allclose(doubt.entropy, total, atol=2e-5)
    np.testing.assert_allclose(doubt.mutual_information, total - expected, atol=4e-5)
    assert (doubt.mutual_information >= 0).all()
    assert (doubt.mutual_information <= doubt.entropy + 1e-5).all()
    assert (doubt.entropy <= np.log(predictions.shape[-1]) + 1e-5).all()


def test_members_that_agree_have_no_mutual_information() -> None:
    predictions = np.tile(np.array([[0.7, 0.2, 0.1]], np.float32), (3, 1, 1))
    doubt = combine.uncertainty(predictions, combine.mean(predictions, [1, 1, 1]), [1, 1, 1])
    np.testing.assert_allclose(doubt.mutual_information, 0, atol=1e-6)


def test_members_certain_of_different_classes_have_mutual_information_alone() -> None:
    predictions = np.eye(2, dtype=np.float32)[:, None, :]
    doubt = combine.uncertainty(predictions, combine.mean(predictions, [1, 1]), [1, 1])
    np.testing.assert_allclose(doubt.entropy, np.log(2), rtol=1e-6)
    np.testing.assert_allclose(doubt.mutual_information, np.log(2), rtol=1e-6)
