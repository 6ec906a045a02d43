"""Bins of equal mass compared with scikit-learn, and the calibration error of equal width with torchmetrics."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.calibration import calibration_curve
from torchmetrics.classification import MulticlassCalibrationError

from podium.ensemble.scoring.calibration_error import BINS, ReliabilityBin, calibration_error, equal_mass, equal_width


def _probabilities(generator: np.random.Generator, rows: int, classes: int) -> NDArray[np.float32]:
    return generator.dirichlet(np.ones(classes), rows).astype(np.float32)


@given(st.integers(0, 2**32), st.integers(2, 8))
def test_bins_equal_the_quantiles_of_scikit_learn(seed: int, classes: int) -> None:
    generator = np.random.default_rng(seed)
    rows = BINS * 16  # the edges are then between rows, not on them
    probabilities, targets = _probabilities(generator, rows, classes), generator.integers(0, classes, rows)
    right = probabilities.argmax(axis=1) == targets
    accuracies, confidences = calibration_curve(right, probabilities.max(axis=1), n_bins=BINS, strategy="quantile")
    found = equal_mass(probabilities, targets)
    np.testing.assert_allclose([bin_.accuracy for bin_ in found], accuracies)
    np.testing.assert_allclose([bin_.confidence for bin_ in found], confidences, rtol=1e-6)


@given(st.integers(0, 2**32), st.integers(1, 300), st.integers(2, 8))
def test_equal_width_error_equals_torchmetrics(seed: int, rows: int, classes: int) -> None:
    generator = np.random.default_rng(seed)
    probabilities, targets = _probabilities(generator, rows, classes), generator.integers(0, classes, rows)
    expected = MulticlassCalibrationError(classes, n_bins=BINS, norm="l1")(
        torch.from_numpy(probabilities), torch.from_numpy(targets)
    )
    found = equal_width(probabilities, targets)
    assert calibration_error(found) == pytest.approx(float(expected), abs=1e-6)
    assert sum(bin_.count for bin_ in found) == rows


def test_confidence_of_1_is_in_the_last_bin_of_equal_width() -> None:
    # torchmetrics gives it a bin of its own, a sixteenth.
    probabilities = np.array([[1, 0], [0.9375, 0.0625], [0.5, 0.5]], np.float32)
    targets = np.array([0, 1, 0])
    assert equal_width(probabilities, targets) == (ReliabilityBin(0.5, 1.0, 1), ReliabilityBin(0.96875, 0.5, 2))


def test_equal_width_and_equal_mass_differ_when_most_rows_are_confident() -> None:
    confidence = np.concatenate([np.linspace(0.94, 0.999, 300), np.linspace(0.51, 0.93, 20)]).astype(np.float32)
    probabilities = np.stack([confidence, 1 - confidence], axis=1)
    targets = (np.arange(320) % 3 == 0).astype(np.int64)
    width, mass = equal_width(probabilities, targets), equal_mass(probabilities, targets)
    assert width[-1].count > 290
    assert max(bin_.count for bin_ in mass) <= 22
    assert calibration_error(width) != pytest.approx(calibration_error(mass), abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_equal_mass_error_equals_torchmetrics_when_bins_coincide(seed: int) -> None:
    generator, classes, each = np.random.default_rng(seed), 60, 20
    confidence = (np.repeat(np.arange(BINS), each) + generator.uniform(0.3, 0.9, BINS * each)) / BINS
    probabilities = np.repeat((1 - confidence[:, None]) / (classes - 1), classes, axis=1)
    probabilities[:, 7] = confidence
    assert (probabilities.argmax(axis=1) == 7).all()
    targets = np.where(generator.random(len(confidence)) < confidence**2, 7, 3)
    expected = MulticlassCalibrationError(classes, n_bins=BINS, norm="l1")(
        torch.from_numpy(probabilities), torch.from_numpy(targets)
    )
    found = calibration_error(equal_mass(probabilities.astype(np.float32), targets))
    assert found == pytest.approx(float(expected), abs=1e-6)
    assert found > 0.1


@given(st.integers(0, 2**32), st.integers(1, 100), st.booleans())
def test_bins_contain_every_row_in_any_order(seed: int, rows: int, coarse: bool) -> None:
    generator = np.random.default_rng(seed)
    probabilities, targets = _probabilities(generator, rows, 3), generator.integers(0, 3, rows)
    if coarse:
        probabilities = np.eye(3, dtype=np.float32)[probabilities.argmax(axis=1)]
    order = generator.permutation(rows)
    found = equal_mass(probabilities, targets)
    again = equal_mass(probabilities[order], targets[order])
    assert [(bin_.count, bin_.accuracy) for bin_ in again] == [(bin_.count, bin_.accuracy) for bin_ in found]
    assert calibration_error(again) == pytest.approx(calibration_error(found))
    assert sum(bin_.count for bin_ in found) == rows
    assert 1 <= len(found) <= BINS
    if not coarse:
        assert max(bin_.count for bin_ in found) <= -(-rows // BINS)
    confidences = [bin_.confidence for bin_ in found]
    assert confidences == sorted(confidences)
    assert 0 <= calibration_error(found) <= 1


def test_rows_of_equal_confidence_share_a_bin() -> None:
    probabilities = np.tile(np.array([[0.75, 0.25]], np.float32), (100, 1))
    targets = (np.arange(100) % 2).astype(np.int64)
    assert equal_mass(probabilities, targets) == (ReliabilityBin(0.75, 0.5, 100),)
    assert calibration_error(equal_mass(probabilities, targets)) == 0.25


def test_calibrated_probabilities_have_almost_no_error() -> None:
    generator = np.random.default_rng(0)
    probabilities = _probabilities(generator, 50_000, 3)
    targets = (generator.random(50_000)[:, None] > probabilities.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    assert calibration_error(equal_mass(probabilities, targets)) < 0.01
