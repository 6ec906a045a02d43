"""Expected calibration error with bins of equal mass or equal width; numpy only, host process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 15


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Rows of similar confidence: a point of the reliability diagram."""

    confidence: float  # mean probability of the predicted class
    accuracy: float
    count: int


def equal_mass(probabilities: NDArray[np.float32], targets: NDArray[np.int64]) -> tuple[ReliabilityBin, ...]:
    """At most 15 bins of equal mass (Nixon et al. 2019), from the least to the most confident.

    `probabilities` is (rows, classes), `targets` is (rows,). Rows are binned by rank of their confidence, since bins of
    equal width are almost empty for a good network. Rows of equal confidence share a bin, so that the order of rows
    does not matter; the bins may then be fewer and uneven.
    """
    confidence = probabilities.max(axis=1)
    ranks = np.searchsorted(np.sort(confidence), confidence)
    return _binned(probabilities, targets, ranks * BINS // len(confidence))


def equal_width(probabilities: NDArray[np.float32], targets: NDArray[np.int64]) -> tuple[ReliabilityBin, ...]:
    """The same with 15 bins of equal width (Guo et al. 2017), without empty bins.

    This is the usual binning, for comparison with published results. A confidence on an edge counts in the upper bin, 1
    in the last one.
    """
    edges = np.linspace(0, 1, BINS + 1, dtype=np.float32)
    position = np.searchsorted(edges, probabilities.max(axis=1), side="right") - 1
    return _binned(probabilities, targets, np.minimum(position, BINS - 1))


def _binned(
    probabilities: NDArray[np.float32], targets: NDArray[np.int64], bins: NDArray[np.int64]
) -> tuple[ReliabilityBin, ...]:
    """Aggregate rows by bin; `bins` has the bin of each row."""
    confidence = probabilities.max(axis=1).astype(np.float64)
    right = probabilities.argmax(axis=1) == targets
    counts = np.bincount(bins, minlength=BINS)
    confidences, hits = (np.bincount(bins, weights=values, minlength=BINS) for values in (confidence, right))
    return tuple(
        ReliabilityBin(float(confidences[bin_] / counts[bin_]), float(hits[bin_] / counts[bin_]), int(counts[bin_]))
        for bin_ in np.flatnonzero(counts)
    )


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """The expected calibration error: mean |accuracy - confidence| (Naeini et al. 2015)."""
    rows = sum(bin_.count for bin_ in bins)
    return sum(bin_.count * abs(bin_.accuracy - bin_.confidence) for bin_ in bins) / rows
