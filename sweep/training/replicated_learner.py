"""Trains one built-in network by several ranks; trial processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn

from podium.sweep.parallel.asynchronous import Asynchronous
from podium.sweep.parallel.process_group import Group
from podium.sweep.parallel.spares import SynchronousWithSpares
from podium.sweep.parallel.synchronous import Synchronous
from podium.sweep.training.learner import Learner

DataParallel = Synchronous | SynchronousWithSpares | Asynchronous
TrainerOf = Callable[[Group, nn.Module, torch.optim.Optimizer], DataParallel]


class ReplicatedLearner(Learner):
    """A learner of which each rank computes its part of every batch. All ranks need the same data and seed.

    After each epoch, all ranks have the same network and optimizer, so any of them can measure, save and resume. With
    `Synchronous`, the result is that of one process, but for dropout and batch normalization. The parts of a slow
    replica that are not counted are other rows in each epoch.
    """

    def __init__(self, *arguments: Any, group: Group, trainer_of: TrainerOf, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._group = group
        self._trainer_of = trainer_of

    def train_epoch(self) -> float:
        """As many updates as there are batches; returns the mean loss of the rows that the ranks computed."""
        self.model.train()
        batches = self.batches()
        sums = torch.zeros(2, dtype=torch.float64)  # of losses, and of rows
        with self._trainer_of(self._group, self.model, self.optimizer) as trainer:
            while trainer.global_step < len(batches):
                numbers = batches[trainer.global_step]
                part = torch.tensor_split(numbers, self._group.size)[self._group.rank]
                loss = trainer.step(partial(self._loss, trainer.model, part, len(numbers)))
                sums += torch.tensor([float(loss) * len(numbers) / self._group.size, len(part)], dtype=torch.float64)
        self._group.sum(sums)
        return float(sums[0] / sums[1])

    def _loss(self, model: nn.Module, part: torch.Tensor, rows: int) -> torch.Tensor:
        """The loss of a part, such that the mean over the ranks is the mean over the rows of the batch."""
        if len(part) == 0:  # of a last batch with fewer rows than ranks
            inputs, targets = self.rows.take(torch.zeros(1, dtype=torch.int64, device=self.rows.index_device))
            return 0.0 * self.criterion.loss(model(inputs), targets)
        inputs, targets = self.rows.take(part)
        return self.criterion.loss(model(inputs), targets) * (len(part) * self._group.size / rows)
