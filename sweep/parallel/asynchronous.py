"""Asynchronous data parallel training with parameter servers; the user's process."""

from __future__ import annotations

import torch
from torch import nn

from podium.sweep.parallel.gradient_synchronization_rules import BoundedStaleness, Stale
from podium.sweep.parallel.parameter_server_worker import ParameterServerReplica
from podium.sweep.parallel.process_group import Group
from podium.sweep.values.errors import ParallelError


class Asynchronous(ParameterServerReplica):
    """Each gradient updates the parameters when it arrives; no replica waits for another one.

    While a replica computes, others update the parameters. The *staleness* of its gradient is the number of these
    updates. Stale gradients slow convergence, and may make it diverge: bound them, use a lower learning rate than with
    `Synchronous`, and warm up. Write loops as `while trainer.global_step < steps`, and let each replica draw from all
    rows, with a seed of its own.

    The parameters are divided over `servers` servers of about the same size, in ranks 0 to `servers - 1`, which also
    train. Each counts its own updates. The learning rate is that of the server's rank. When the block ends, every
    replica has the final parameters, the buffers of rank 0, and the state of the optimizer.

    Args:
        group: The ranks, from `parallel.join`.
        model: The network, on `group.device`. All replicas start with the parameters of rank 0.
        optimizer: An optimizer of the model's parameters whose `step` needs no closure, and which keeps parameters and
            their state in `param_groups` and `state` only. Hooks of `step` run at each update, on a copy of it.
        servers: The number of ranks that serve parameters. Several share the traffic of a large network.
        max_staleness: The bound; None for none.
        stale: Gradients above the bound are dropped, or scaled by (max_staleness + 1) / (staleness + 1).
        warm_up_steps: The number of updates for which rank 0 trains alone.
        compression: `torch.bfloat16` sends the gradients in 16 bits.

    Attributes:
        model: The network to compute the loss with.
        global_step: The number of updates that this replica's parameters have, of the first server.
        dropped: The number of gradients of this replica that a server did not count.
    """

    def __init__(
        self,
        group: Group,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        servers: int = 1,
        max_staleness: int | None = None,
        stale: Stale = "drop",
        warm_up_steps: int = 0,
        compression: torch.dtype | None = None,
    ) -> None:
        if not 1 <= servers <= group.size:
            raise ParallelError(f"servers is {servers}; it must be 1 to {group.size}, the number of ranks")
        BoundedStaleness.check(max_staleness, stale, warm_up_steps)
        super().__init__(
            group,
            model,
            optimizer,
            servers=servers,
            rule_of=lambda apply: BoundedStaleness(
                apply, max_staleness=max_staleness, stale=stale, warm_up_steps=warm_up_steps
            ),
            compression=compression,
            waits_for_start=warm_up_steps > 0 and group.rank != 0,
        )
