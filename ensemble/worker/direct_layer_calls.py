"""Computes sequences of layers by functions of tensors instead of calls of modules; worker process.

For one row, the call of a small layer as a module takes longer than its arithmetic: PyTorch looks up its hooks and its
weights, and transposes the weights. The functions run the same kernels on the same numbers in the same order.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import torch
from torch import nn
from torch.nn import functional
from torch.nn.modules import module as torch_modules

from podium.sweep.networks.models import Standardize

Function = Callable[[torch.Tensor], torch.Tensor]
log = logging.getLogger("podium.worker")


class DirectSequence(nn.Module):
    """The layers of a sequence as functions. They keep its weights as they are now: nothing may move them later."""

    def __init__(self, sequence: nn.Sequential) -> None:
        super().__init__()
        self.sequence = sequence
        self._functions = tuple(_functions(sequence))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        for function in self._functions:
            rows = function(rows)
        return rows


@torch.inference_mode()
def call_directly(network: nn.Module, samples: Sequence[torch.Tensor]) -> None:
    """Replace each child of `network` that is an `nn.Sequential` by a `DirectSequence`.

    Undone if the outputs for one of `samples` (rows, features) are not the same, or cannot be computed.
    """
    sequences = {name: child for name, child in network.named_children() if type(child) is nn.Sequential}
    sequences = {name: sequence for name, sequence in sequences.items() if _is_plain(sequence)}
    if not sequences:
        return
    try:
        expected = [network(sample) for sample in samples]
        for name, sequence in sequences.items():
            setattr(network, name, DirectSequence(sequence))
        if all(torch.equal(network(sample), outputs) for sample, outputs in zip(samples, expected, strict=True)):
            return
        why = "the outputs differ, or are not numbers"
    except Exception as error:  # noqa: BLE001 - whatever fails here, the modules compute what they can
        why = f"{type(error).__name__}: {error}"
    log.warning("the layers are called as modules: %s", why)
    for name, sequence in sequences.items():
        setattr(network, name, sequence)


def _is_plain(layer: nn.Module) -> bool:
    """Whether a call of the module does nothing but call the `forward` of its class."""
    has_global_hook = torch_modules._has_any_global_hook()  # type: ignore[no-untyped-call]
    has_hook = layer._forward_hooks or layer._forward_pre_hooks or has_global_hook
    is_replaced = "forward" in vars(layer) or layer._compiled_call_impl is not None
    return not (has_hook or is_replaced) and type(layer).__call__ is nn.Module.__call__


def _functions(sequence: nn.Sequential) -> Iterator[Function]:
    """What the layers compute, in order. A layer that is not plain is called as a module."""
    for layer in sequence:
        if not _is_plain(layer):
            yield layer
        elif type(layer) is nn.Sequential:
            yield from _functions(layer)
        elif not (type(layer) is nn.Dropout and not layer.training):
            yield _FUNCTIONS.get(type(layer), _forward)(layer)


def _forward(layer: nn.Module) -> Function:
    forward: Function = layer.forward
    return forward


def _linear(layer: nn.Linear) -> Function:
    weight, bias = layer.weight, layer.bias
    if bias is None or type(weight) is not nn.Parameter:  # subclasses of tensors may have products of their own
        return _forward(layer)
    transposed = weight.t()

    def compute(rows: torch.Tensor) -> torch.Tensor:
        return torch.addmm(bias, rows, transposed) if rows.ndim == 2 else functional.linear(rows, weight, bias)

    return compute


def _relu(layer: nn.ReLU) -> Function:
    return _forward(layer) if layer.inplace else torch.relu


def _standardize(layer: Standardize) -> Function:
    mean, deviation = layer.mean, layer.deviation

    def compute(rows: torch.Tensor) -> torch.Tensor:
        return (rows.to(torch.float32) - mean) / deviation

    return compute


_FUNCTIONS: Mapping[type[nn.Module], Callable[..., Function]] = {
    nn.Linear: _linear,
    nn.ReLU: _relu,
    nn.Tanh: lambda _: torch.tanh,
    nn.GELU: lambda layer: partial(functional.gelu, approximate=layer.approximate),
    Standardize: _standardize,
}
