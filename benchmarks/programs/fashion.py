"""A small network on Fashion-MNIST with its own training loop; the same for Podium and for Ray Tune.

`config["data"]` is a folder with x_train, y_train, x_validation and y_validation as .npy files: rows of 784 bytes, and
classes. Bytes are converted to floats batch by batch, as a user with a large file would do.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

EPOCHS = 9


def train(config: dict[str, Any], report: Callable[[float, int], None]) -> float:
    """Train for `EPOCHS`, report the validation accuracy of each, and return the best."""
    data = {
        name: torch.from_numpy(np.load(Path(config["data"]) / f"{name}.npy"))
        for name in ("x_train", "y_train", "x_validation", "y_validation")
    }
    torch.manual_seed(int(config["hidden"]))
    model = nn.Sequential(
        nn.Linear(784, int(config["hidden"])),
        nn.ReLU(),
        nn.Dropout(config["dropout"]),
        nn.Linear(int(config["hidden"]), 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=config["momentum"])
    best = 0.0
    for epoch in range(1, EPOCHS + 1):
        _learn(model, optimizer, data["x_train"], data["y_train"], int(config["batch_size"]))
        accuracy = _accuracy(model, data["x_validation"], data["y_validation"])
        best = max(best, accuracy)
        report(accuracy, epoch)
    return best


def _learn(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor, batch: int) -> None:
    model.train()
    for rows in torch.randperm(len(x)).split(batch):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows].float() / 255 - 0.5), y[rows]).backward()
        optimizer.step()


@torch.inference_mode()
def _accuracy(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    model.eval()
    return float((model(x.float() / 255 - 0.5).argmax(dim=1) == y).double().mean())


def objective(trial: Any) -> float:
    """The objective for Podium."""

    def report(accuracy: float, epoch: int) -> None:
        trial.report(accuracy, epoch)
        if epoch < EPOCHS and trial.should_prune():
            raise trial.Pruned

    return train(trial.params, report)
