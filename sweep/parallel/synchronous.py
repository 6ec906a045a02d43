"""Synchronous data parallel training by DistributedDataParallel; the user's process."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from podium.sweep.parallel import bfloat16_gradients
from podium.sweep.parallel.process_group import Group, copy_from_first
from podium.sweep.values.errors import ParallelError


class Synchronous:
    """Each step is computed with the mean of the gradients of all replicas, so the slowest replica decides.

    Equal to one process that computes the loss over the concatenated batches, if these have the same size. Every rank
    must call `step` equally often. Batch normalization has the statistics of each replica's own batch.

    Args:
        group: The ranks, from `parallel.join`.
        model: The network, on `group.device`. All replicas start with the parameters of rank 0.
        optimizer: Any optimizer of the model's parameters.
        compression: `torch.bfloat16` sends the gradients in 16 bits.

    Attributes:
        model: The network to compute the loss with, a `DistributedDataParallel`.
        global_step: The number of updates.
    """

    def __init__(
        self,
        group: Group,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        compression: torch.dtype | None = None,
    ) -> None:
        bfloat16_gradients.check(compression, model)
        self.model = DistributedDataParallel(model)
        if compression is not None:
            self.model.register_comm_hook(None, bfloat16_gradients.bfloat16_hook)
        self.global_step = 0
        self._optimizer = optimizer
        self._forwards = _ForwardCount()
        self.model.register_forward_pre_hook(self._forwards)

    def step(self, compute_loss: Callable[[], torch.Tensor]) -> torch.Tensor:
        """Update the parameters by the gradient of the loss that `compute_loss` returns for this replica's batch.

        Returns this loss, detached.
        """
        self._optimizer.zero_grad(set_to_none=True)
        before = self._forwards.count
        loss = compute_loss()
        if self._forwards.count == before:
            raise ParallelError("the loss was computed without `trainer.model`; its gradients would stay on this rank")
        torch.autograd.backward(loss)
        self._optimizer.step()
        self.global_step += 1
        return loss.detach()

    def __enter__(self) -> Synchronous:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """All replicas have the same parameters, in the original network; their buffers become those of rank 0."""
        if error is None:
            copy_from_first(list(self.model.buffers()))


class _ForwardCount:
    """A hook that does not refer to the trainer, so that the network is freed with the last reference to it."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, module: nn.Module, inputs: Any) -> None:
        self.count += 1
