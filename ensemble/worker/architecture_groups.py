"""Which members can be computed as one: those of one architecture on one device; worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType

import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

Signature = tuple[object, ...]
_OF_ANY = frozenset(vars(nn.Module()))  # what a module has before its own class adds to it


@dataclass(frozen=True, slots=True)
class PlacedNetwork:
    """A member: its network, on its device. On a machine without GPUs, CPU slots stand in for devices."""

    module: nn.Module
    device: torch.device
    slot: int = 0
    example: torch.Tensor | None = None  # rows (rows, features) that a user's network is known to take


@dataclass(frozen=True, slots=True)
class Group:
    """Members that differ in their weights only; `positions` are theirs in the ensemble, ascending."""

    device: torch.device
    slot: int
    positions: tuple[int, ...]
    modules: tuple[nn.Module, ...]


def groups(members: Sequence[PlacedNetwork]) -> list[Group]:
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

    A layer's settings count, a convolution's padding say, or the activation that a user's layer holds, but a dropout's
    share does not: at rest it does nothing, and sweeps vary it.
    """
    layers = tuple((name, *_kind(layer), layer.training) for name, layer in module.named_modules())
    tensors = [*module.named_parameters(), *module.named_buffers()]
    return layers, tuple((name, tuple(tensor.shape), tensor.dtype) for name, tensor in tensors)


def _kind(layer: nn.Module) -> tuple[type[nn.Module], object]:
    """The class itself: two of one name may come from different code."""
    quiet = isinstance(layer, _DropoutNd) and not layer.training
    own = {} if quiet else {name: value for name, value in vars(layer).items() if name not in _OF_ANY}
    return type(layer), tuple((name, _plain(value)) for name, value in sorted(own.items()))


def _plain(value: object) -> object:
    """A setting that can be compared; anything else is equal to itself only."""
    if value is None or isinstance(value, bool | int | float | str | torch.dtype | torch.Size):
        return type(value), value
    if isinstance(value, list | tuple):
        return type(value), tuple(map(_plain, value))
    if isinstance(value, dict):
        return dict, tuple((key, _plain(held)) for key, held in value.items())
    if isinstance(value, FunctionType) and (value.__closure__ or value.__defaults__):
        return id(value)
    return value if isinstance(value, FunctionType | BuiltinFunctionType | type) else id(value)
