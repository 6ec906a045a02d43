"""Splits a network into consecutive stages, each on its device; worker process."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import nn

from podium.sweep.parallel import pipeline_stage_split
from podium.sweep.values.errors import EnsembleError


class Stages(nn.Module):
    """Stages in turn; the rows move to the device of each. The outputs are on the device of the last."""

    def __init__(self, stages: Sequence[nn.Module], devices: Sequence[torch.device]) -> None:
        super().__init__()
        self.stages = nn.ModuleList(stage.to(device) for stage, device in zip(stages, devices, strict=True))
        self._devices = tuple(devices)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        for stage, device in zip(self.stages, self._devices, strict=True):
            rows = stage(rows.to(device))
        return rows

    def extra_repr(self) -> str:
        return ", ".join(map(str, self._devices))


def place(network: nn.Module, devices: Sequence[torch.device]) -> nn.Module:
    """The network on its device, or split into a stage for each of several, as equal in bytes as layers allow.

    Raises `EnsembleError` if it has fewer layers than devices, or is not a sequence of layers.
    """
    if len(devices) == 1:
        return network.to(devices[0])
    if not isinstance(network, nn.Sequential):
        raise EnsembleError(
            f"the network is a {type(network).__name__}, and only an nn.Sequential can span {len(devices)} devices; "
            "use devices: 1, or return an nn.Sequential from build"
        )
    layers = list(network)
    if len(layers) < len(devices):
        raise EnsembleError(f"the network has {len(layers)} layers, and cannot span {len(devices)} devices")
    starts = [0, *pipeline_stage_split.balanced([_bytes(layer) for layer in layers], len(devices)), len(layers)]
    stages = [nn.Sequential(*layers[first:beyond]) for first, beyond in itertools.pairwise(starts)]
    _check_not_shared(stages)
    return Stages(stages, devices)


def _check_not_shared(stages: Sequence[nn.Module]) -> None:
    seen: set[int] = set()
    for stage in stages:
        own = {id(tensor) for tensor in [*stage.parameters(), *stage.buffers()]}
        if own & seen:
            raise EnsembleError("a layer of the network is used in several stages, and cannot be on several devices")
        seen |= own


def _bytes(layer: nn.Module) -> int:
    return 1 + sum(tensor.nbytes for tensor in [*layer.parameters(), *layer.buffers()])
