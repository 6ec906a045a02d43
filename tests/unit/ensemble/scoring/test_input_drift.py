"""Standardized mean differences: the largest first, constants apart."""

from __future__ import annotations

import numpy as np

from podium.ensemble.scoring.input_drift import drift


def test_largest_differences_come_first() -> None:
    train = (np.array([0.0, 10.0, 5.0]), np.array([1.0, 2.0, 1.0]))
    recent = (np.array([0.1, 4.0, 5.6]), np.array([1.0, 2.0, 1.0]))
    found, notable = drift(train, recent, 2)
    assert [(each.feature, round(each.difference or 0, 3)) for each in found] == [(1, -3.0), (2, 0.6)]
    assert notable == 2


def test_constant_feature_that_moved_has_no_difference_and_comes_first() -> None:
    train = (np.array([0.0, 3.0, 0.1]), np.array([1.0, 0.0, 1e-9]))
    recent = (np.array([9.0, 4.0, 0.1 + 1e-9]), np.array([1.0, 0.0, 0.0]))
    found, notable = drift(train, recent, 9)
    assert [(each.feature, each.difference) for each in found] == [(1, None), (0, 9.0), (2, 0.0)]
    assert notable == 2
