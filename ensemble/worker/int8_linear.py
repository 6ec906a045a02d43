"""Linear layers whose weights and inputs are int8; worker process and the measurement of precisions.

Each output has a scale of its weights, fixed, and each row a scale of its inputs, computed from this row. So a row has
the same outputs in every batch, bit for bit: the sums are of integers. The product is the operator of PyTorch that
torchao uses for the same scheme (`Int8DynamicActivationInt8WeightConfig`), called without its tensor subclasses.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from podium.sweep.values.errors import EnsembleError

LEVELS = 127  # symmetric: -127 to 127
_SMALLEST = 1e-30  # a scale: rows and weights of zeros stay zeros
_CHECKED_ROWS = (1, 3, 64)
_CUDA_ROWS = 32  # cuBLAS needs more than 16 rows
_CUDA_MULTIPLE = 16  # and multiples of 8 inputs and outputs


class Int8Linear(nn.Module):
    """A linear layer in int8. Its outputs have the dtype of its inputs.

    `weight_int8` is (inputs, outputs), on GPUs padded with zeros.
    """

    weight_int8: torch.Tensor
    scale: torch.Tensor
    bias: torch.Tensor

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        weight = layer.weight.detach().float()
        scale = (weight.abs().amax(dim=1) / LEVELS).clamp_min(_SMALLEST)
        quantized = torch.round(weight / scale.unsqueeze(1)).to(torch.int8)
        self.inputs, self.outputs = layer.in_features, layer.out_features
        # A copy with new strides: for one input, `contiguous` keeps those of `t`, with which the product is wrong.
        self.register_buffer("weight_int8", torch.empty(quantized.t().shape, dtype=torch.int8).copy_(quantized.t()))
        self.register_buffer("scale", scale)
        bias = torch.zeros_like(scale) if layer.bias is None else layer.bias.detach().float().clone()
        self.register_buffer("bias", bias)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        flat = rows.reshape(-1, self.inputs).float().contiguous()
        scale = (flat.abs().amax(dim=1, keepdim=True) / LEVELS).clamp_min(_SMALLEST)
        product = self._product(torch.round(flat / scale).to(torch.int8))
        outputs = torch.addcmul(self.bias, product * scale, self.scale)
        return outputs.reshape(*rows.shape[:-1], self.outputs).to(rows.dtype)

    def _product(self, rows: torch.Tensor) -> torch.Tensor:
        """int32 (rows, outputs)."""
        if not rows.is_cuda:
            return integer_product(rows, self.weight_int8)
        missing = max(0, _CUDA_ROWS - rows.shape[0])
        padded = functional.pad(rows, (0, self.weight_int8.shape[0] - self.inputs, 0, missing))
        return integer_product(padded, self.weight_int8)[: rows.shape[0], : self.outputs]

    def check(self) -> None:
        """Raises `EnsembleError` unless the products of integers on this device are exact."""
        weight = self.weight_int8[: self.inputs, : self.outputs].double()
        for count in _CHECKED_ROWS:
            rows = (torch.arange(count * self.inputs, device=weight.device) * 37 % (2 * LEVELS + 1) - LEVELS).double()
            rows = rows.reshape(count, self.inputs)
            if not torch.equal(self._product(rows.to(torch.int8)).double(), rows @ weight):
                raise EnsembleError(
                    f"the product of {count} rows in int8 with a layer of {self.inputs} inputs and {self.outputs} "
                    "outputs is wrong on this machine; use float32"
                )

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Int8Linear:
        """Pads the weights when they are moved to a GPU, and keeps the scales in float32."""
        device = fn(torch.empty(0)).device
        self.weight_int8 = _padded(self.weight_int8, self.inputs, self.outputs, device).to(device)
        self.scale, self.bias = self.scale.to(device), self.bias.to(device)
        return self

    def extra_repr(self) -> str:
        return f"{self.inputs}, {self.outputs}"


def integer_product(rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """int32 (rows, outputs) of int8 (rows, inputs) and (inputs, outputs)."""
    return torch._int_mm(rows, weight)


def _padded(weight: torch.Tensor, inputs: int, outputs: int, device: torch.device) -> torch.Tensor:
    if device.type != "cuda":
        return weight[:inputs, :outputs]
    more_inputs, more_outputs = (_up(size) - found for size, found in zip((inputs, outputs), weight.shape, strict=True))
    return functional.pad(weight, (0, more_outputs, 0, more_inputs))


def _up(size: int) -> int:
    return -(-size // _CUDA_MULTIPLE) * _CUDA_MULTIPLE


def check(network: nn.Module) -> None:
    """Raises `EnsembleError` unless the products of all layers in int8 are exact on their device."""
    for layer in network.modules():
        if isinstance(layer, Int8Linear):
            layer.check()


def quantize(network: nn.Module) -> int:
    """Replace the linear layers of a network by layers in int8; returns their number.

    A subclass of `nn.Linear` or a layer with hooks or parametrizations computes something else, and stays as it is. A
    layer that appears several times is replaced by one.
    """
    made: dict[nn.Module, Int8Linear] = {}
    for parent in list(network.modules()):
        for name, layer in list(parent.named_children()):
            if type(layer) is nn.Linear and not (layer._forward_hooks or layer._forward_pre_hooks):
                if layer not in made:
                    made[layer] = Int8Linear(layer)
                setattr(parent, name, made[layer])
    return len(made)
