"""Which members can be computed as one: those of one architecture on one device; worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

Signature = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A member: its network, on its device. On a machine without GPUs, CPU slots stand in for devices."""

    module: nn.Module
    device: torch.device
    slot: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Members that differ in their weights only; `positions` are theirs in the ensemble, ascending."""

    device: torch.device
    slot: int
    positions: tuple[int, ...]
    modules: tuple[nn.Module, ...]


def groups(members: Sequence[Placed]) -> list[Group]:
    """Every member in one group, in the order in which the groups first appear."""
    found: dict[tuple[torch.device, int, Signature], list[int]] = {}
    for position, member in enumerate(members):
        found.setdefault((member.device, member.slot, signature(member.module)), []).append(position)
    return [
        Group(device, slot, tuple(positions), tuple(members[position].module for position in positions))
        for (device, slot, _), positions in found.items()
    ]


def signature(module: nn.Module) -> Signature:
    """Equal for two networks exactly if one can compute the other's answers with the other's weights.

    What a layer says of itself counts, a convolution's padding say, but a dropout's share does not: at rest it does
    nothing, and sweeps vary it.
    """
    layers = tuple((name, _kind(layer), layer.training) for name, layer in module.named_modules())
    tensors = [*module.named_parameters(), *module.named_buffers()]
    return layers, tuple((name, tuple(tensor.shape), tensor.dtype) for name, tensor in tensors)


def _kind(layer: nn.Module) -> tuple[str, str]:
    quiet = isinstance(layer, _DropoutNd) and not layer.training
    return f"{type(layer).__module__}.{type(layer).__qualname__}", "" if quiet else layer.extra_repr()
