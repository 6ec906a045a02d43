"""Synchronous data parallel training with spare replicas; the user's process."""

from __future__ import annotations

import torch
from torch import nn

from podium.sweep.parallel.gradient_synchronization_rules import FirstGradients
from podium.sweep.parallel.parameter_server_worker import ParameterServerReplica
from podium.sweep.parallel.process_group import Group


class SynchronousWithSpares(ParameterServerReplica):
    """Each update is the mean of the first `size - spares` gradients, so up to `spares` slow replicas do not delay it.

    After Chen et al. 2016, "Revisiting Distributed Synchronous SGD". A gradient that arrives after its update is
    dropped; its replica continues with the newest parameters. All replicas have the same parameters at the same
    `global_step`, so write loops as `while trainer.global_step < steps`. Rows that only slow replicas have would not be
    learned: let each replica draw from all rows, with a seed of its own.

    Rank 0 keeps the parameters and the optimizer, and its learning rate counts. It may be a slow replica itself, as
    long as its server threads get a core. When the block ends, every replica has the final parameters, the buffers of
    rank 0 (such as the statistics of batch normalization), and the state of the optimizer.

    Args:
        group: The ranks, from `parallel.join`.
        model: The network, on `group.device`. All replicas start with the parameters of rank 0.
        optimizer: An optimizer of the model's parameters whose `step` needs no closure, and which keeps parameters and
            their state in `param_groups` and `state` only. Hooks of `step` run at each update, on a copy of it.
        spares: The number of gradients of each step that are not waited for, less than the number of replicas.
        compression: `torch.bfloat16` sends the gradients in 16 bits.

    Attributes:
        model: The network to compute the loss with.
        global_step: The number of updates that this replica's parameters have.
        dropped: The number of gradients of this replica that were not counted.
    """

    def __init__(
        self,
        group: Group,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        spares: int,
        compression: torch.dtype | None = None,
    ) -> None:
        FirstGradients.check(group.size, spares)
        super().__init__(
            group,
            model,
            optimizer,
            servers=1,
            rule_of=lambda apply: FirstGradients(apply, group.size, spares),
            compression=compression,
        )
