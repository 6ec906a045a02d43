"""How far the inputs of recent requests are from the training rows, by feature; api. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_ROWS = 200  # recent ones; the means of fewer differ by chance
NOTABLE = 0.5  # standard deviations
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FeatureDrift:
    """A feature in the training rows and in recent requests.

    `difference` is the standardized mean difference, of the means by the root of the mean variance (Cohen's d); None if
    the feature is constant in both but at different values.
    """

    feature: int
    train_mean: float
    train_std: float
    recent_mean: float
    recent_std: float
    difference: float | None


def drift(train: tuple[Numbers, Numbers], recent: tuple[Numbers, Numbers], most: int) -> tuple[list[FeatureDrift], int]:
    """The `most` features with the largest differences, and the number of notable ones. Each is (means, stds)."""
    (train_mean, train_std), (recent_mean, recent_std) = train, recent
    spread = np.sqrt((train_std**2 + recent_std**2) / 2)
    # Rounding leaves a spread in constant features; a difference below the precision of the inputs is none.
    tiny = 1e-6 * (1 + np.abs(train_mean))
    shift = recent_mean - train_mean
    shift = np.where(np.abs(shift) <= tiny, 0.0, shift)
    moved = (spread <= tiny) & (shift != 0)
    difference = np.where(moved, np.inf, shift / np.where(spread <= tiny, 1.0, spread))
    order = np.argsort(-np.abs(difference), kind="stable")[:most]
    found = [
        FeatureDrift(
            int(at),
            float(train_mean[at]),
            float(train_std[at]),
            float(recent_mean[at]),
            float(recent_std[at]),
            float(difference[at]) if np.isfinite(difference[at]) else None,
        )
        for at in order
    ]
    return found, int(np.count_nonzero(np.abs(difference) > NOTABLE))
