"""Joining the members' predictions, and how sure they are; numpy only, gateway and host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Probabilities = NDArray[np.float32]


def renormalized(weights: Sequence[float]) -> NDArray[np.float32]:
    """The weights of those that answered, summing to 1."""
    array: NDArray[np.float32] = np.asarray(weights, dtype=np.float32)
    normalized: NDArray[np.float32] = array / array.sum(dtype=np.float32)
    return normalized


def mean(predictions: Probabilities, weights: Sequence[float]) -> Probabilities:
    """The weighted mean of probabilities: (members, rows, classes) to (rows, classes).

    Sums in member order, in float32, so the same predictions give the same bits however they arrived.
    """
    total = np.zeros(predictions.shape[1:], dtype=np.float32)
    for weight, prediction in zip(renormalized(weights), predictions, strict=True):
        total += weight * prediction
    return total


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """Per row, in nats: total = expected (the members' own doubt) + mutual information (their disagreement)."""

    entropy: NDArray[np.float32]
    mutual_information: NDArray[np.float32]


def uncertainty(predictions: Probabilities, combined: Probabilities, weights: Sequence[float]) -> Uncertainty:
    """Predictive entropy and mutual information (Depeweg et al. 2018, equation 3)."""
    entropy = _entropy(combined)
    expected = np.einsum("m,mn->n", renormalized(weights), _entropy(predictions))
    return Uncertainty(entropy, np.maximum(entropy - expected, 0).astype(np.float32))


def _entropy(probabilities: Probabilities) -> NDArray[np.float32]:
    clipped = np.clip(probabilities, np.finfo(np.float32).tiny, 1)
    return np.asarray(-np.sum(probabilities * np.log(clipped), axis=-1), dtype=np.float32)
