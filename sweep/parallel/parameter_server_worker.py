"""A replica whose parameters are on parameter servers, and its training steps; the user's process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

import torch
import torch.distributed as dist
from torch import nn

from podium.sweep.parallel import bfloat16_gradients, parameter_shards
from podium.sweep.parallel.gradient_synchronization_rules import Apply, Outcome, SynchronizationRule
from podium.sweep.parallel.parameter_server import ParameterServer
from podium.sweep.parallel.parameter_server_client import (
    LocalConnection,
    ParameterServerConnection,
    RemoteConnection,
)
from podium.sweep.parallel.process_group import Group, copy_from_first
from podium.sweep.values.errors import ParallelError

RuleOf = Callable[[Apply], SynchronizationRule]


class ParameterServerReplica:
    """What `SynchronousWithSpares` and `Asynchronous` share: ranks 0 to `servers - 1` also serve a shard each."""

    def __init__(
        self,
        group: Group,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        servers: int,
        rule_of: RuleOf,
        compression: torch.dtype | None,
        waits_for_start: bool = False,
    ) -> None:
        bfloat16_gradients.check(compression, model)
        self.model = model
        self.global_step = 0
        self.dropped = 0
        self._group = group
        self._optimizer = optimizer
        self._waits_for_start = waits_for_start
        shards = parameter_shards.divide(model, optimizer, servers)
        copy_from_first([*model.parameters(), *model.buffers()])
        self._wire_dtype = compression or shards[0].dtype
        self._versions = [0] * servers
        self._server: ParameterServer | None = None
        self._links = self._connect(shards, rule_of)
        self._open = True

    def step(self, compute_loss: Callable[[], torch.Tensor]) -> torch.Tensor:
        """Send the gradient of the loss that `compute_loss` returns, and continue with the newest parameters.

        Returns this loss, detached. The gradient is counted, or dropped, by the rule of the class.
        """
        if not self._open:
            raise ParallelError("step() was called after the `with` block of the trainer")
        if self._waits_for_start:
            self._waits_for_start = False
            self._exchange([None] * len(self._links), [-1] * len(self._links))
        self._optimizer.zero_grad(set_to_none=True)
        loss = compute_loss()
        torch.autograd.backward(loss)
        outcomes = self._exchange([link.shard.gradient(self._wire_dtype) for link in self._links], self._versions)
        self.dropped += Outcome.DROPPED in outcomes
        self._optimizer.zero_grad(set_to_none=True)
        self._optimizer.step()  # without gradients it changes nothing; schedulers of the learning rate expect the call
        return loss.detach()

    def close(self) -> None:
        """Wait for all replicas, and copy the final parameters, buffers and optimizer state to all of them."""
        if not self._open:
            return
        self._open = False
        try:
            for link in self._links:
                link.leave()
            if self._server is not None:
                self._server.wait()
            self._copy_final_values()
        except BaseException as error:
            self._abandon(error)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        self._open = False
        self._abandon(error)

    def _abandon(self, error: BaseException) -> None:
        """Tell the other ranks: those that wait for an answer by the server, the others by the store."""
        if self._server is not None:
            self._group.report_end(error)
            self._server.abandon(f"rank {self._group.rank} ended with {type(error).__name__}: {error}"[:500])

    def _connect(self, shards: Sequence[parameter_shards.Shard], rule_of: RuleOf) -> list[ParameterServerConnection]:
        links: list[ParameterServerConnection] = []
        for server_rank, shard in enumerate(shards):
            if server_rank != self._group.rank:
                links.append(RemoteConnection(server_rank, shard))
                continue
            self._server = ParameterServer(shard, self._optimizer, rule_of, timeout_s=self._group.timeout_s)
            self._server.start(self._group, self._wire_dtype)
            links.append(LocalConnection(self._server, shard, self._group.rank))
        return links

    def _exchange(self, gradients: Sequence[torch.Tensor | None], versions: Sequence[int]) -> list[Outcome]:
        """Send to all servers, then receive from each; the local exchange starts after all sends."""
        for link, gradient, version in zip(self._links, gradients, versions, strict=True):
            link.send(version, gradient)
        answers = [link.receive() for link in self._links]
        for link, answer in zip(self._links, answers, strict=True):
            assert answer.values is not None
            link.shard.load(answer.values)
        self._versions = [answer.version for answer in answers]
        self.global_step = self._versions[0]
        return [answer.outcome for answer in answers]

    def _copy_final_values(self) -> None:
        state: dict[int, Any] = {}
        for server_rank, link in enumerate(self._links):
            own = self._server if server_rank == self._group.rank else None
            values = own.values if own else torch.zeros(link.shard.size, dtype=link.shard.dtype)
            dist.broadcast(values, src=server_rank)
            link.shard.load(values)
            parts: list[Any] = [own.optimizer.state() if own else None]
            dist.broadcast_object_list(parts, src=server_rank, device=torch.device("cpu"))
            state |= parts[0]
        final = torch.tensor([self.global_step])
        dist.all_reduce(final, op=dist.ReduceOp.MAX)
        self.global_step = int(final)
        copy_from_first(list(self.model.buffers()))
        groups = self._optimizer.state_dict()["param_groups"]
        self._optimizer.load_state_dict({"state": state, "param_groups": groups})
