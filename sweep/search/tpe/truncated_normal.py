"""The truncated normal distribution, vectorized. Scheduler and search processes.

`low` and `high` are the bounds of the truncation in standard deviations from the mean, with `low` <= `high`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr, ndtri_exp

Floats = npt.NDArray[np.float64]


def log_mass(low: Floats, high: Floats) -> Floats:
    """The logarithm of the probability of [low, high] under the standard normal distribution; -inf where it is 0.

    Intervals on the right are mirrored: differences of the distribution function are precise only in the left tail.
    """
    mirrored = low > 0
    left, right = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    central = right > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        tail = log_ndtr(right) + np.log1p(-np.exp(log_ndtr(left) - log_ndtr(right)))
        masses = np.where(central, np.log1p(-ndtr(left) - ndtr(-right)), tail)
    found: Floats = np.nan_to_num(masses, copy=False, nan=-np.inf, posinf=-np.inf, neginf=-np.inf)
    return found


def log_mass_around(low: Floats, high: Floats) -> Floats:
    """`log_mass` of intervals that contain the mean: `low` <= 0 <= `high`."""
    found: Floats = np.log1p(-ndtr(low) - ndtr(-high))
    return found


def quantile(probability: Floats, low: Floats, high: Floats) -> Floats:
    """The value below which the truncated distribution has this probability; arrays of equal shape."""
    mass, mirrored = log_mass(low, high), low >= 0
    near, share = np.where(mirrored, -high, low), np.where(mirrored, 1.0 - probability, probability)
    with np.errstate(divide="ignore"):
        found: Floats = ndtri_exp(np.logaddexp(log_ndtr(near), np.log(share) + mass))
    return np.clip(np.where(mirrored, -found, found), low, high)
