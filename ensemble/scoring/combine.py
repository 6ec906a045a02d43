"""Combines the members' predictions and computes their uncertainty; numpy only, gateway, worker and host processes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.values.ensemble_snapshot import Combination, Stacking
from podium.ensemble.values.ensemble_spec import Rule, Task
from podium.ensemble.values.prediction import Uncertainty

Predictions = NDArray[np.float32]
_ELEMENTWISE = frozenset({Rule.MEDIAN, Rule.TRIMMED_MEAN})  # their results on probabilities need not sum
TRIM_FROM = 3  # minimum number of members to trim
MANY_ELEMENTS = 512  # of one member
_TINY = np.finfo(np.float32).tiny


def combine(combination: Combination, predictions: Predictions, answered: Sequence[int]) -> Predictions:
    """Combine predictions (answered, rows, outputs) into one (rows, outputs).

    `answered` has the positions of the members that answered, ascending. Sums are computed in member order in float32,
    so that the same replies give the same bits in any order of arrival. The weights are renormalized over the members
    that answered, or equal if they sum to 0. The temperature is applied last.

    mean, weighted: the weighted mean. logit_mean: the softmax of the weighted mean of log-probabilities. median: of
    each element, renormalized to sum to 1. trimmed_mean: the mean of each element without its lowest and highest value
    if at least `TRIM_FROM` members answered, renormalized. hard_vote: each class's weighted share of the votes; a
    member votes for its most likely class, ties go to the first class. stacking: a linear model over all members; a
    missing member is replaced by the mean of the others.
    """
    weights = _shares(combination.weights, combination.rule, tuple(answered))
    if combination.rule is Rule.STACKING:
        assert combination.stacking is not None
        outputs = _stacked(
            combination.stacking, combination.task, predictions, answered, members=len(combination.weights)
        )
    else:
        outputs = _RULES[combination.rule](predictions, weights)
    if combination.task is Task.CLASSIFICATION and combination.rule in _ELEMENTWISE:
        outputs = _renormalized(outputs, predictions)
    if combination.temperature != 1.0:
        outputs = apply_temperature(outputs, combination.temperature)
    return outputs


def effective_weights(combination: Combination, answered: Sequence[int]) -> tuple[float, ...]:
    """The weight of each member that answered, summing to 1; equal if the rule has no weights."""
    return _share_values(combination.weights, combination.rule, tuple(answered))


def apply_temperature(probabilities: Predictions, temperature: float) -> Predictions:
    """p^(1/T), renormalized (Guo et al. 2017, section 4.2, on combined probabilities)."""
    return _softmax(np.log(np.maximum(probabilities, _TINY)) / np.float32(temperature))


def uncertainty(
    combination: Combination, predictions: Predictions, outputs: Predictions, answered: Sequence[int]
) -> Uncertainty:
    """Predictive entropy and mutual information (Depeweg et al. 2018, equation 3), or the variance of a mixture.

    (Lakshminarayanan et al. 2017, section 2.4.)
    """
    weights = _shares(combination.weights, combination.rule, tuple(answered))
    plain = combination.rule in (Rule.MEAN, Rule.WEIGHTED) and combination.temperature == 1.0
    mean = outputs if plain else _mean(predictions, weights)
    if combination.task is Task.CLASSIFICATION:
        others = (outputs,) if plain else (outputs, mean)
        entropies = _entropy(np.concatenate((predictions, others)))  # together: a call takes longer than a few rows
        expected = _mean(entropies[: -len(others)], weights)
        return Uncertainty(entropies[-len(others)], np.maximum(entropies[-1] - expected, 0))
    disagreement = _mean((predictions - mean) ** 2, weights)
    noise = np.asarray(combination.noise_variance or (0.0,), dtype=np.float32)
    return Uncertainty(variance=disagreement + noise, disagreement=disagreement)


@functools.lru_cache(maxsize=4096)  # on the path of every request
def _shares(weights: tuple[float, ...], rule: Rule, answered: tuple[int, ...]) -> NDArray[np.float32]:
    mine = np.asarray([weights[position] for position in answered], dtype=np.float64)
    if rule in (Rule.MEDIAN, Rule.TRIMMED_MEAN, Rule.STACKING) or not mine.sum() > 0:
        mine = np.ones(len(answered))
    shares: NDArray[np.float32] = (mine / mine.sum()).astype(np.float32)
    shares.flags.writeable = False
    return shares


@functools.lru_cache(maxsize=4096)  # on the path of every request
def _share_values(weights: tuple[float, ...], rule: Rule, answered: tuple[int, ...]) -> tuple[float, ...]:
    shares: list[float] = _shares(weights, rule, answered).tolist()
    return tuple(shares)


def _mean(predictions: Predictions, weights: NDArray[np.float32]) -> Predictions:
    """Sum in member order: bits do not depend on the shape as they do for `sum`, which may add pairwise.

    With many elements `accumulate` is several times slower than `+=`; with few they differ by microseconds.
    """
    if predictions[0].size < MANY_ELEMENTS:
        weighted = predictions * weights.reshape(-1, *[1] * (predictions.ndim - 1))
        return np.asarray(np.add.accumulate(weighted, axis=0, out=weighted)[-1])
    total: Predictions = predictions[0] * weights[0]
    part = np.empty_like(total)
    for prediction, weight in zip(predictions[1:], weights[1:], strict=True):
        total += np.multiply(prediction, weight, out=part)
    return total


def _logit_mean(predictions: Predictions, weights: NDArray[np.float32]) -> Predictions:
    """The normalized geometric mean, which is the mean of logits: softmax is invariant to a constant offset."""
    return _softmax(_mean(np.log(np.maximum(predictions, _TINY)), weights))


def _median(predictions: Predictions, weights: NDArray[np.float32]) -> Predictions:
    return np.median(predictions, axis=0).astype(np.float32)


def _trimmed_mean(predictions: Predictions, weights: NDArray[np.float32]) -> Predictions:
    """The mean of each element without its lowest and highest value, if at least `TRIM_FROM` answered."""
    if len(predictions) < TRIM_FROM:
        return _mean(predictions, weights)
    inner = np.sort(predictions, axis=0)[1:-1]
    return _mean(inner, np.full(len(inner), 1 / len(inner), dtype=np.float32))


def _renormalized(outputs: Predictions, predictions: Predictions) -> Predictions:
    """Renormalize; if all elements are 0 because members are certain of different classes, use their mean."""
    totals = outputs.sum(axis=1, keepdims=True, dtype=np.float32)
    if totals.min() >= _TINY:
        return np.asarray(outputs / totals)
    outputs = np.where(totals < _TINY, predictions.mean(axis=0, dtype=np.float32), outputs)
    return np.asarray(outputs / outputs.sum(axis=1, keepdims=True, dtype=np.float32))


def _hard_vote(predictions: Predictions, weights: NDArray[np.float32]) -> Predictions:
    """Each class's share of the votes; `argmax` resolves ties to the first class."""
    votes = np.zeros(predictions.shape[1:], dtype=np.float32)
    rows = np.arange(predictions.shape[1])
    for weight, prediction in zip(weights, predictions, strict=True):
        votes[rows, prediction.argmax(axis=1)] += weight
    return votes


def _stacked(
    stacking: Stacking, task: Task, predictions: Predictions, answered: Sequence[int], *, members: int
) -> Predictions:
    """A linear model over all members (Wolpert 1992); missing members are replaced by the mean of the others."""
    inputs = predictions if task is Task.REGRESSION else np.log(np.maximum(predictions, _TINY))
    whole = np.broadcast_to(inputs.mean(axis=0), (members, *inputs.shape[1:])).copy()
    whole[list(answered)] = inputs
    features = whole.transpose(1, 0, 2).reshape(inputs.shape[1], -1)
    scores = features @ np.asarray(stacking.coefficients, np.float32) + np.asarray(stacking.intercept, np.float32)
    return scores if task is Task.REGRESSION else _softmax(scores)


_RULES: dict[Rule, Callable[[Predictions, NDArray[np.float32]], Predictions]] = {
    Rule.MEAN: _mean,
    Rule.WEIGHTED: _mean,
    Rule.LOGIT_MEAN: _logit_mean,
    Rule.MEDIAN: _median,
    Rule.TRIMMED_MEAN: _trimmed_mean,
    Rule.HARD_VOTE: _hard_vote,
}


def _softmax(scores: NDArray[Any]) -> Predictions:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True, dtype=np.float32), dtype=np.float32)


def _entropy(probabilities: Predictions) -> NDArray[np.float32]:
    terms = np.maximum(probabilities, _TINY)
    np.log(terms, out=terms)
    terms *= probabilities
    return np.asarray(-np.add.reduce(terms, axis=-1), dtype=np.float32)
