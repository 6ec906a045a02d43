"""Loss, metrics and saved predictions of each task; trial process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch
from torch.nn import functional

from podium.sweep.data.memory_mapped_datasets import Dataset


class Criterion(Protocol):
    """The loss, metrics and predictions of a task. `outputs` are the network's outputs for n rows."""

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The mean loss of the rows; outputs and targets are on the device of training."""

    def measure(self, outputs: torch.Tensor, targets: torch.Tensor) -> Mapping[str, float]:
        """Each metric that `builtin_catalog.METRICS` has for the task; outputs and targets are on the CPU."""

    def predictions(self, outputs: torch.Tensor) -> torch.Tensor:
        """The predictions that ensembles combine, float32."""


class Classification:
    """Cross-entropy of logits (n, classes) and classes (n,)."""

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(outputs, targets)

    def measure(self, outputs: torch.Tensor, targets: torch.Tensor) -> Mapping[str, float]:
        accuracy = (outputs.argmax(dim=1) == targets).double().mean()
        return {"val_accuracy": float(accuracy), "val_loss": float(self.loss(outputs, targets))}

    def predictions(self, outputs: torch.Tensor) -> torch.Tensor:
        """Probabilities (n, classes)."""
        return functional.softmax(outputs, dim=1)


class Regression:
    """Mean squared error of values (n, outputs), each output divided by the standard deviation of its training targets.

    RMSE and MAE are over all rows and outputs, in the units of the target.
    """

    def __init__(self, std: torch.Tensor) -> None:
        """`std` is (outputs,), on the device of training."""
        self._std = std

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return ((outputs - targets) / self._std).square().mean()

    def measure(self, outputs: torch.Tensor, targets: torch.Tensor) -> Mapping[str, float]:
        errors = (outputs - targets).double()
        rmse, mae = errors.square().mean().sqrt(), errors.abs().mean()
        device = self._std.device
        loss = self.loss(outputs.to(device), targets.to(device))
        return {"val_rmse": float(rmse), "val_mae": float(mae), "val_loss": float(loss)}

    def predictions(self, outputs: torch.Tensor) -> torch.Tensor:
        """The values themselves (n, outputs)."""
        return outputs


def criterion_of(data: Dataset, device: torch.device) -> Criterion:
    """The criterion for the task of `data`, on `device`."""
    if data.task == "regression":
        return Regression(torch.tensor(data.target_std, dtype=torch.float32, device=device))
    return Classification()
