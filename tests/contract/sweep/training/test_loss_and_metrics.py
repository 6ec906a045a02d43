"""Loss, metrics and predictions of each task, against computations by hand."""

from __future__ import annotations

import math

import pytest
import torch

from podium.sweep.training.loss_and_metrics import Classification, Regression


def test_regression_metrics_match_a_manual_computation() -> None:
    """Two rows, two outputs; errors 3, 0.2, -4 and 0, of which the deviations make 3, 2, -4 and 0."""
    criterion = Regression(torch.tensor([1.0, 0.1]))
    targets = torch.tensor([[10.0, 1.0], [20.0, 2.0]])
    measured = criterion.measure(targets + torch.tensor([[3.0, 0.2], [-4.0, 0.0]]), targets)
    assert measured["val_rmse"] == pytest.approx(((9 + 0.04 + 16) / 4) ** 0.5)
    assert measured["val_mae"] == pytest.approx(7.2 / 4)
    assert measured["val_loss"] == pytest.approx((9 + 4 + 16) / 4, rel=1e-5)


def test_regression_predictions_are_the_outputs() -> None:
    outputs = torch.tensor([[10.0, 1.0]])
    assert torch.equal(Regression(torch.tensor([1.0, 0.1])).predictions(outputs), outputs)


def test_classification_metrics_match_a_manual_computation() -> None:
    """Logits of three rows and two classes; the last row is wrong."""
    logits = torch.tensor([[0.0, math.log(3)], [math.log(4), 0.0], [0.0, math.log(3)]])
    measured = Classification().measure(logits, torch.tensor([1, 0, 0]))
    assert measured["val_accuracy"] == pytest.approx(2 / 3)
    assert measured["val_loss"] == pytest.approx(-(math.log(3 / 4) + math.log(4 / 5) + math.log(1 / 4)) / 3, rel=1e-5)


def test_classification_predictions_are_probabilities() -> None:
    found = Classification().predictions(torch.tensor([[0.0, math.log(3)]]))
    torch.testing.assert_close(found, torch.tensor([[0.25, 0.75]]))
