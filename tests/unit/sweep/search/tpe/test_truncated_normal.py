"""The truncated normal distribution agrees with SciPy's, also far from the mean."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, truncnorm

from podium.sweep.search.tpe.truncated_normal import log_mass, log_mass_around, quantile

LOW = np.array([-1.0, -40.0, 3.0, -3.0, 20.0, -1e-3])
HIGH = np.array([1.0, -39.0, 5.0, 60.0, 21.0, 1e-3])


def test_mass_in_both_tails() -> None:
    for low, high in zip(LOW.tolist(), HIGH.tolist(), strict=True):
        if low <= 0 <= high:
            expected = np.log(norm.cdf(high) - norm.cdf(low))
        else:
            near, far = sorted((norm.logsf(abs(low)), norm.logsf(abs(high))), reverse=True)
            expected = near + np.log1p(-np.exp(far - near))
        assert log_mass(np.array([low]), np.array([high])) == pytest.approx(expected, rel=1e-9)


def test_mass_is_symmetric() -> None:
    assert log_mass(LOW, HIGH) == pytest.approx(log_mass(-HIGH, -LOW), rel=1e-12)


def test_mass_around_the_mean() -> None:
    around = (LOW <= 0) & (HIGH >= 0)
    assert log_mass_around(LOW[around], HIGH[around]) == pytest.approx(log_mass(LOW[around], HIGH[around]))


def test_empty_interval_has_no_mass() -> None:
    assert log_mass(np.array([50.0]), np.array([50.0])).tolist() == [-np.inf]


@pytest.mark.parametrize("probability", [0.0, 1e-9, 0.3, 0.5, 0.999999])
def test_quantile_inverts_the_distribution(probability: float) -> None:
    low, high = np.array([-1.0, 3.0, -60.0, 0.0]), np.array([1.0, 5.0, -1.0, 8.0])
    found = quantile(np.full(4, probability), low, high)
    assert np.all((found >= low) & (found <= high))
    assert truncnorm.cdf(found, low, high) == pytest.approx(probability, abs=1e-9)
