"""Model parallel training: the layers of a network over several ranks, by torch's pipelining; the user's process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, cast

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.pipelining.schedules import PipelineScheduleSingle

from podium.sweep.parallel import pipeline_stage_split
from podium.sweep.parallel.process_group import Group
from podium.sweep.values.errors import ParallelError

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Schedule = Literal["1f1b", "gpipe"]
SCHEDULES: dict[str, type[Schedule1F1B] | type[ScheduleGPipe]] = {"1f1b": Schedule1F1B, "gpipe": ScheduleGPipe}


class Pipeline:
    """Trains a network whose consecutive layers are on the devices of consecutive ranks.

    Each batch is cut into microbatches, so that the ranks compute at the same time. Equal to one device that computes
    the mean loss over the batch, except for layers that depend on the whole batch, such as batch normalization, which
    have the statistics of a microbatch. Every rank calls the same methods with the same batches; only the first rank
    uses the inputs, only the last the targets.

    Args:
        group: The ranks, from `parallel.join`: one for each stage.
        model: The layers, with the same weights on all ranks. Each rank moves its own to its device.
        loss: The mean loss of outputs and targets.
        optimizer: Returns an optimizer of the parameters it is called with: those of this rank.
        batch_size: The rows of each training batch.
        microbatches: The number of microbatches. With 4 per rank, filling and draining take less than a fifth of the
            time: (n - 1) / (5 n - 1) with n ranks.
        schedule: `1f1b` starts backward passes as early as possible, and so keeps fewer activations than `gpipe`.
        split: The first layer of each stage after the first. By default, stages have about as many parameters each.

    Attributes:
        stage: The layers of this rank.
    """

    def __init__(
        self,
        group: Group,
        model: nn.Sequential,
        loss: Loss,
        optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer],
        *,
        batch_size: int,
        microbatches: int,
        schedule: Schedule = "1f1b",
        split: Sequence[int] | None = None,
    ) -> None:
        _check(group, schedule, batch_size, microbatches)
        weights = [sum(each.numel() for each in layer.parameters()) for layer in model]
        starts = pipeline_stage_split.check(split, len(model), group.size) if split is not None else None
        ends = [0, *(starts or pipeline_stage_split.balanced(weights, group.size)), len(model)]
        self.stage = cast(nn.Sequential, model[ends[group.rank] : ends[group.rank + 1]])
        self.stage.to(group.device)
        parameters = list(self.stage.parameters())
        self.optimizer = optimizer(parameters) if parameters else None
        self._group = group
        self._batch_size = batch_size
        stage, forward_stage = (PipelineStage(self.stage, group.rank, group.size, group.device) for _ in range(2))
        self._schedule: PipelineScheduleSingle = SCHEDULES[schedule](stage, microbatches, loss_fn=loss)
        self._forward_schedule = ScheduleGPipe(forward_stage, microbatches)

    def step(self, inputs: torch.Tensor, targets: torch.Tensor) -> float:
        """Update the parameters by the gradient of the mean loss of a batch; returns this loss, on every rank."""
        if len(inputs) != self._batch_size:
            raise ParallelError(
                f"the batch has {len(inputs)} rows, but batch_size is {self._batch_size}; stages exchange tensors of "
                "one shape, so leave out a smaller last batch (`drop_last=True`)"
            )
        self.stage.train()
        if self.optimizer is not None:
            self.optimizer.zero_grad(set_to_none=True)
        losses: list[torch.Tensor] = []
        self._run(
            self._schedule.step, inputs, target=targets.to(self._group.device), losses=losses, return_outputs=False
        )
        if self.optimizer is not None:
            self.optimizer.step()
        loss = torch.stack(losses).mean().detach().cpu() if self._is_last else torch.zeros(())
        dist.broadcast(loss, src=self._group.size - 1)
        return float(loss)

    def predict(self, inputs: torch.Tensor) -> torch.Tensor:
        """The outputs for any number of rows, on the CPU, on every rank."""
        self.stage.eval()
        found = []
        with torch.no_grad():
            for batch in torch.split(inputs, self._batch_size):
                missing = self._batch_size - len(batch)
                padded = torch.cat([batch, batch[-1:].expand(missing, *batch.shape[1:])]) if missing else batch
                outputs = self._run(self._forward_schedule.step, padded)
                found.append(outputs[: len(batch)].cpu() if self._is_last else None)
        parts: list[Any] = [torch.cat([each for each in found if each is not None]) if self._is_last else None]
        dist.broadcast_object_list(parts, src=self._group.size - 1, device=torch.device("cpu"))
        outputs_of_all: torch.Tensor = parts[0]
        return outputs_of_all

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The weights of the whole network, on the CPU, on every rank."""
        own = {name: value.detach().cpu() for name, value in self.stage.state_dict().items()}
        states: list[Any] = [None] * self._group.size
        dist.all_gather_object(states, own)
        return {name: value for state in states for name, value in state.items()}

    @property
    def _is_last(self) -> bool:
        return self._group.rank == self._group.size - 1

    def _run(self, run: Callable[..., Any], inputs: torch.Tensor, **options: Any) -> Any:
        return run(inputs.to(self._group.device), **options) if self._group.rank == 0 else run(**options)


def _check(group: Group, schedule: str, batch_size: int, microbatches: int) -> None:
    if schedule not in SCHEDULES:
        raise ParallelError(f"schedule is {schedule!r}; it must be one of {', '.join(map(repr, SCHEDULES))}")
    if microbatches < 1 or batch_size % microbatches:
        raise ParallelError(
            f"a batch of {batch_size} rows cannot be cut into {microbatches} microbatches of the same size; "
            "choose a batch_size that is a multiple of microbatches"
        )
    if schedule == "1f1b" and microbatches < group.size:
        raise ParallelError(
            f"microbatches is {microbatches}; with 1f1b it must be at least {group.size}, one per stage"
        )
