"""Trains one built-in network: its rows, optimizer, epochs and metrics; trial process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from podium.sweep.data.memory_mapped_datasets import Dataset
from podium.sweep.networks import models
from podium.sweep.networks.dataset_batches import TrainingRows, evaluation_batches
from podium.sweep.spec import builtin_catalog
from podium.sweep.training.loss_and_metrics import Criterion, criterion_of
from podium.sweep.values.attempt_assignment import Scalar


class Learner:
    """A network of `architecture`, trained on `rows`: all of them, or those at `positions`.

    `data` has the validation split, and the scale of the targets.
    """

    def __init__(
        self,
        data: Dataset,
        architecture: Mapping[str, Any],
        rows: TrainingRows,
        device: torch.device,
        seed: int,
        positions: torch.Tensor | None = None,
    ) -> None:
        settings = architecture["settings"]
        self.data = data
        self.device = device
        self.model = models.build(architecture).to(device)
        self.optimizer = _optimizer(self.model, settings)
        self.criterion = criterion_of(data, device)
        self.shuffle = torch.Generator().manual_seed(seed)
        self.rows = rows
        self._positions = None if positions is None else positions.to(rows.index_device)
        self._batch_size = int(settings["batch_size"])

    def train_epoch(self) -> float:
        """One pass over the rows; returns the mean loss."""
        self.model.train()
        total = torch.zeros((), device=self.device)
        for numbers in self.batches():
            inputs, targets = self.rows.take(numbers)
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.criterion.loss(self.model(inputs), targets)
            torch.autograd.backward(loss)
            self.optimizer.step()
            total += loss.detach() * len(numbers)
        return float(total) / self.row_count

    @property
    def row_count(self) -> int:
        """The number of rows of an epoch."""
        return len(self.rows) if self._positions is None else len(self._positions)

    def batches(self) -> tuple[torch.Tensor, ...]:
        """The row numbers of the batches of the next epoch."""
        order = torch.randperm(self.row_count, generator=self.shuffle).to(self.rows.index_device)
        if self._positions is not None:
            order = self._positions[order]
        return torch.split(order, self._batch_size)

    def measure(self) -> Mapping[str, float]:
        """The criterion's metrics on the validation split."""
        return evaluate(self.model, self.criterion, data=self.data, split="validation", device=self.device)


def evaluate(
    model: nn.Module, criterion: Criterion, data: Dataset, split: str, device: torch.device
) -> Mapping[str, float]:
    """The criterion's metrics on a split."""
    targets = torch.from_numpy(data.targets_of(split))
    return criterion.measure(outputs_of(model, data, split, device), targets)


def outputs_of(model: nn.Module, data: Dataset, split: str, device: torch.device) -> torch.Tensor:
    """Logits (n, classes) or values (n, outputs) of a split, in the order of `data.split`; float32, on the CPU."""
    model.eval()
    with torch.inference_mode():
        return torch.cat([model(batch.to(device)).cpu() for batch in evaluation_batches(data, split)])


def complete_settings(model: str, params: Mapping[str, Scalar]) -> dict[str, Any]:
    """Every setting of the model and the training loop: the values of the trial, else the defaults."""
    defaults = {name: setting.default for name, setting in builtin_catalog.settings_of(model).items()}
    return {**defaults, **params}


def architecture_of(
    data: Dataset, settings: Mapping[str, Any], spec: Mapping[str, Any], split: Mapping[str, Any]
) -> dict[str, Any]:
    """The description of a network for `models.build` and for ensembles, stored in the model file as JSON."""
    architecture = {
        "model": spec["model"],
        "settings": settings,
        "task": data.task,
        "image": data.image,
        "columns": data.columns,
        "classes": len(data.classes),
        "labels": data.classes,
        "mean": data.mean,
        "deviation": data.std,
        "data": spec["data"],
        "split": split,
        "rows_sha256": data.sha256,
    }
    if data.task == "regression":
        architecture |= {"target_mean": data.target_mean, "target_deviation": data.target_std}
    return architecture


def _optimizer(model: nn.Module, settings: Mapping[str, Any]) -> torch.optim.Optimizer:
    lr, decay = float(settings["lr"]), float(settings["weight_decay"])
    if settings["optimizer"] == "sgd":
        return torch.optim.SGD(model.parameters(), lr=lr, momentum=float(settings["momentum"]), weight_decay=decay)
    if settings["optimizer"] == "adamw":
        return torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=decay)
    return torch.optim.Adam(model.parameters(), lr=lr, weight_decay=decay)
