"""Trains one built-in network by the ranks of a trial with several devices; trial process."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from podium.sweep.parallel.process_group import Group
from podium.sweep.parallel.synchronous import Synchronous
from podium.sweep.training.learner import Learner


class DistributedLearner(Learner):
    """A `Learner` whose batches are divided over the ranks of `group`; all ranks have the same parameters.

    The gradient of each update is that of the whole batch, as in one process.
    """

    def __init__(self, group: Group, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._group = group

    def train_epoch(self) -> float:
        """One pass over the rows, all ranks together; returns the mean loss."""
        self.model.train()
        group, total = self._group, torch.zeros(1, dtype=torch.float64)
        with Synchronous(group, self.model, self.optimizer) as trainer:
            for numbers in self.batches():
                mine = numbers[group.rank :: group.size]
                inputs, targets = self.rows.take(mine if len(mine) else numbers[:1])
                weight = len(mine) * group.size / len(numbers)  # DDP averages over the ranks
                loss = trainer.step(partial(self._loss, trainer.model, inputs, targets, weight))
                total += float(loss) / group.size * len(numbers)
        group.sum(total)
        return float(total) / self.row_count

    def _loss(self, model: torch.nn.Module, inputs: torch.Tensor, targets: torch.Tensor, weight: float) -> torch.Tensor:
        return self.criterion.loss(model(inputs), targets) * weight
