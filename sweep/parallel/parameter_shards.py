"""The parameters of an optimizer as flat tensors, divided over servers; the user's process."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from podium.sweep.values.errors import ParallelError


@dataclass(frozen=True, slots=True)
class Shard:
    """Some parameters of a replica, exchanged as one flat tensor on the CPU.

    `numbers`: their positions among all parameters of the optimizer, by which its state is stored.
    """

    numbers: tuple[int, ...]
    parameters: tuple[nn.Parameter, ...]
    names: tuple[str, ...]

    @property
    def size(self) -> int:
        """The number of values."""
        return sum(each.numel() for each in self.parameters)

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of all its parameters."""
        return self.parameters[0].dtype

    def values(self) -> torch.Tensor:
        """A copy of the values."""
        return torch.cat([each.detach().reshape(-1).cpu() for each in self.parameters])

    def gradient(self, dtype: torch.dtype) -> torch.Tensor:
        """The gradients. Raises `ParallelError` if a parameter has none, since a mean needs one of every replica."""
        found = []
        for name, parameter in zip(self.names, self.parameters, strict=True):
            if parameter.grad is None:
                raise ParallelError(
                    f"parameter {name!r} has no gradient; use it in every loss, or leave it out of the optimizer"
                )
            found.append(parameter.grad.reshape(-1).to("cpu", dtype))
        return torch.cat(found)

    def load(self, values: torch.Tensor) -> None:
        """Set the parameters."""
        with torch.no_grad():
            for parameter, part in zip(self.parameters, self.views(values), strict=True):
                parameter.copy_(part)

    def views(self, values: torch.Tensor) -> list[torch.Tensor]:
        """The values of each parameter, in its shape, without a copy."""
        parts = torch.split(values, [each.numel() for each in self.parameters])
        return [part.view(each.shape) for part, each in zip(parts, self.parameters, strict=True)]


def divide(model: nn.Module, optimizer: torch.optim.Optimizer, servers: int) -> list[Shard]:
    """Shards of about the same size: each parameter, the largest first, goes to the server with the fewest values."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    every = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    trained = [number for number, parameter in enumerate(every) if parameter.requires_grad]
    _check(every, trained, names, servers)
    loads = [0] * servers
    chosen: list[list[int]] = [[] for _ in range(servers)]
    for number in sorted(trained, key=lambda number: -every[number].numel()):
        server = loads.index(min(loads))
        loads[server] += every[number].numel()
        chosen[server].append(number)
    return [
        Shard(tuple(numbers), tuple(every[number] for number in numbers), tuple(names[id(every[n])] for n in numbers))
        for numbers in map(sorted, chosen)
    ]


def _check(every: Sequence[nn.Parameter], trained: Sequence[int], names: dict[int, str], servers: int) -> None:
    if foreign := [number for number in trained if id(every[number]) not in names]:
        raise ParallelError(f"{len(foreign)} parameters of the optimizer do not belong to the model")
    if len(trained) < servers:
        raise ParallelError(f"servers is {servers}, but the optimizer has {len(trained)} parameters to divide")
    if len({every[number].dtype for number in trained}) > 1:
        raise ParallelError("the parameters of the optimizer have several dtypes; they are exchanged as one tensor")


class ShardOptimizer:
    """The current values of a shard, with an optimizer of the same kind, state and options as the replica's.

    Options such as `lr` are read from the replica's optimizer at each update, so that schedules have their effect.
    """

    def __init__(self, shard: Shard, optimizer: torch.optim.Optimizer) -> None:
        self.values = shard.values()
        self._shard = shard
        self._source = optimizer
        self._masters = [nn.Parameter(part) for part in shard.views(self.values)]
        self._optimizer = _without_state(optimizer)
        master_of = {id(each): master for each, master in zip(shard.parameters, self._masters, strict=True)}
        self._optimizer.param_groups = [
            {**group, "params": [master_of[id(each)] for each in group["params"] if id(each) in master_of]}
            for group in optimizer.param_groups
        ]
        for parameter, master in zip(shard.parameters, self._masters, strict=True):
            if parameter in optimizer.state:
                self._optimizer.state[master] = {key: _copied(each) for key, each in optimizer.state[parameter].items()}

    def apply(self, gradient: torch.Tensor) -> None:
        """One update."""
        for group, source in zip(self._optimizer.param_groups, self._source.param_groups, strict=True):
            group.update({name: value for name, value in source.items() if name != "params"})
        for master, part in zip(self._masters, self._shard.views(gradient), strict=True):
            master.grad = part
        self._optimizer.step()

    def state(self) -> dict[int, Any]:
        """The state by the number of the parameter, as in `state_dict`."""
        pairs = zip(self._shard.numbers, self._masters, strict=True)
        return {
            number: dict(self._optimizer.state[master]) for number, master in pairs if self._optimizer.state[master]
        }


def _without_state(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """A copy with the same options, attributes and hooks, but without parameters.

    `copy.copy` keeps only what `Optimizer.__getstate__` returns. An own `step` is the wrapper of a scheduler, which
    would update the original.
    """
    copied = object.__new__(type(optimizer))
    own = {name: value for name, value in vars(optimizer).items() if name not in ("state", "param_groups", "step")}
    vars(copied).update(own, state=defaultdict(dict), param_groups=[])
    return copied


def _copied(value: Any) -> Any:
    return value.detach().to("cpu", copy=True) if isinstance(value, torch.Tensor) else copy.deepcopy(value)
