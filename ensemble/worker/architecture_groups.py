"""Groups members that can be computed together: same architecture, precision and device; worker process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType

import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from podium.ensemble.values.ensemble_spec import Precision

Signature = tuple[object, ...]
_BASE_ATTRIBUTES = frozenset(vars(nn.Module()))  # attributes of every module


@dataclass(frozen=True, slots=True)
class PlacedNetwork:
    """A member's network on its device. Without GPUs, CPU slots serve as devices."""

    module: nn.Module
    device: torch.device
    slot: int = 0
    example: torch.Tensor | None = None  # rows (rows, features) that a user's network accepts
    precision: Precision = Precision.FLOAT32


@dataclass(frozen=True, slots=True)
class Group:
    """Members that differ only in their weights; `positions` are their positions in the ensemble, ascending."""

    device: torch.device
    slot: int
    positions: tuple[int, ...]
    modules: tuple[nn.Module, ...]
    precision: Precision = Precision.FLOAT32


def groups(members: Sequence[PlacedNetwork]) -> list[Group]:
    """Assign every member to a group; groups are in order of first appearance."""
    found: dict[tuple[torch.device, int, Precision, Signature], list[int]] = {}
    for position, member in enumerate(members):
        key = (member.device, member.slot, member.precision, signature(member.module))
        found.setdefault(key, []).append(position)
    return [
        Group(device, slot, tuple(positions), tuple(members[position].module for position in positions), precision)
        for (device, slot, precision, _), positions in found.items()
    ]


def signature(module: nn.Module) -> Signature:
    """Two networks have equal signatures exactly if one gives the other's outputs with the other's weights.

    All settings of a layer count, such as the padding of a convolution or the activation of a user's layer. The rate of
    a dropout layer does not: it has no effect in eval mode, and sweeps vary it.
    """
    layers = tuple((name, *_kind(layer), layer.training) for name, layer in module.named_modules())
    tensors = [*module.named_parameters(), *module.named_buffers()]
    return layers, tuple((name, tuple(tensor.shape), tensor.dtype) for name, tensor in tensors)


def _kind(layer: nn.Module) -> tuple[type[nn.Module], object]:
    """The class itself is compared: classes of the same name may come from different code."""
    quiet = isinstance(layer, _DropoutNd) and not layer.training
    own = {} if quiet else {name: value for name, value in vars(layer).items() if name not in _BASE_ATTRIBUTES}
    return type(layer), tuple((name, _plain(value)) for name, value in sorted(own.items()))


def _plain(value: object) -> object:
    """A comparable form of a setting; any other object equals only itself."""
    if value is None or isinstance(value, bool | int | float | str | torch.dtype | torch.Size):
        return type(value), value
    if isinstance(value, list | tuple):
        return type(value), tuple(map(_plain, value))
    if isinstance(value, dict):
        return dict, tuple((key, _plain(held)) for key, held in value.items())
    if isinstance(value, FunctionType) and (value.__closure__ or value.__defaults__):
        return id(value)
    return value if isinstance(value, FunctionType | BuiltinFunctionType | type) else id(value)
