"""Calibration: bins of equal mass and of equal width, expected calibration error; numpy only, host and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 15


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Rows of about the same confidence: a point of the reliability diagram."""

    confidence: float  # mean probability of the label
    accuracy: float
    count: int


def equal_mass(probabilities: NDArray[np.float32], targets: NDArray[np.int64]) -> tuple[ReliabilityBin, ...]:
    """Probabilities (rows, classes) and targets (rows,) to at most 15 bins, the least confident first.

    The bins have equal mass (Nixon et al. 2019): rows by rank of their confidence, not by its value, as
    a good network leaves bins of equal width almost empty. Rows of one confidence share a bin, so that the order of
    the rows does not count; with many of those the bins are fewer and not quite equal.
    """
    confidence = probabilities.max(axis=1)
    ranks = np.searchsorted(np.sort(confidence), confidence)
    return _binned(probabilities, targets, ranks * BINS // len(confidence))


def equal_width(probabilities: NDArray[np.float32], targets: NDArray[np.int64]) -> tuple[ReliabilityBin, ...]:
    """The same with 15 bins of equal width (Guo et al. 2017), of which those without rows are left out.

    This is the usual binning, for comparison with published figures. A confidence on an edge counts in the upper bin,
    and 1 in the last one.
    """
    edges = np.linspace(0, 1, BINS + 1, dtype=np.float32)
    position = np.searchsorted(edges, probabilities.max(axis=1), side="right") - 1
    return _binned(probabilities, targets, np.minimum(position, BINS - 1))


def _binned(
    probabilities: NDArray[np.float32], targets: NDArray[np.int64], bins: NDArray[np.int64]
) -> tuple[ReliabilityBin, ...]:
    """The rows by the bin of each."""
    confidence = probabilities.max(axis=1).astype(np.float64)
    right = probabilities.argmax(axis=1) == targets
    counts = np.bincount(bins, minlength=BINS)
    confidences, hits = (np.bincount(bins, weights=values, minlength=BINS) for values in (confidence, right))
    return tuple(
        ReliabilityBin(float(confidences[bin_] / counts[bin_]), float(hits[bin_] / counts[bin_]), int(counts[bin_]))
        for bin_ in np.flatnonzero(counts)
    )


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """The expected calibration error of the label: |accuracy - confidence|, a row (Naeini et al. 2015)."""
    rows = sum(bin_.count for bin_ in bins)
    return sum(bin_.count * abs(bin_.accuracy - bin_.confidence) for bin_ in bins) / rows
