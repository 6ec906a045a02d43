"""Converts networks to the precision of their member; worker process and the measurement of precisions."""

from __future__ import annotations

import torch
from torch import nn

from podium.ensemble.values.ensemble_spec import FLOAT16_ON_CPU, Precision
from podium.ensemble.worker import int8_linear
from podium.sweep.networks import models
from podium.sweep.networks.ensemble_network_adapter import FlatInputAdapter
from podium.sweep.values.errors import EnsembleError

_COMPUTED_IN_FLOAT32 = (
    models.Standardize,
    models.Rescale,
)  # raw inputs and targets may exceed the precision of bfloat16, and the range of float16
_DTYPES = {Precision.BFLOAT16: torch.bfloat16, Precision.FLOAT16: torch.float16}


def check_device(precision: Precision, device: torch.device) -> None:
    """Raises `EnsembleError` if networks are not computed in this precision on this kind of device."""
    if precision is Precision.FLOAT16 and device.type == "cpu":
        raise EnsembleError(FLOAT16_ON_CPU)


def convert_built_in(model: nn.Module, precision: Precision) -> nn.Module:
    """A built-in network in a precision, from the standardized rows to the last layer; may change `model`.

    Raises `EnsembleError` if it has no layer in this precision.
    """
    if precision in _DTYPES:
        return _in_dtype(model, _DTYPES[precision])
    if precision is Precision.INT8:
        _quantize(model)
    return model


def convert_users(network: FlatInputAdapter, precision: Precision) -> FlatInputAdapter:
    """Convert a user's network, which otherwise keeps its dtype. Raises as `convert_built_in` does."""
    if precision in _DTYPES:
        dtype = _DTYPES[precision]
        network = network.to(dtype)
        network.dtype = dtype if network.dtype.is_floating_point else network.dtype
    elif precision is Precision.INT8:
        _quantize(network)
    return network


def _quantize(network: nn.Module) -> None:
    if int8_linear.quantize(network) == 0:
        raise EnsembleError("the network has no linear layer, and int8 is for linear layers only")


class _ToDtype(nn.Module):
    """Converts its input to a dtype."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows.to(self.dtype)


def _in_dtype(model: nn.Module, dtype: torch.dtype) -> nn.Module:
    layers = [layer if isinstance(layer, _COMPUTED_IN_FLOAT32) else layer.to(dtype) for layer in model.children()]
    return nn.Sequential(layers[0], _ToDtype(dtype), *layers[1:])
