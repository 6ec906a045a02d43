"""Adapts a user's network to ensembles: flat rows in, probabilities or values out; trial processes and members."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.saved_network_manifest import NetworkManifest, Outputs

Build = Callable[[dict[str, Any]], nn.Module]


class FlatInputAdapter(nn.Module):
    """Converts flat rows to the shape and dtype of a network, and its outputs to float32.

    The network gets a copy of the rows, since it may modify them in place.
    """

    def __init__(self, network: nn.Module, shape: tuple[int, ...], dtype: torch.dtype, outputs: Outputs) -> None:
        super().__init__()
        self.network = network
        self.shape = shape
        self.dtype = dtype
        self.outputs = outputs

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Flat rows (rows, features) in, probabilities (rows, classes) or values (rows, outputs) out, float32."""
        count = rows.shape[0]  # unlike len(), a symbolic size in an exported graph
        inputs = rows.reshape((count, *self.shape)).to(self.dtype, copy=True)
        return forward_float32(self.network(inputs), count, self.outputs)

    def extra_repr(self) -> str:
        return f"{self.shape}, {self.dtype}, {self.outputs.value}"


def check_rows(network: nn.Module, rows: torch.Tensor) -> None:
    """Raise `ValueError` for the first value that conversion to a network's integer dtype would change.

    Converting 2.7 to int64 gives 2, and 300 to uint8 gives 44.
    """
    if not isinstance(network, FlatInputAdapter) or network.dtype.is_floating_point or network.dtype.is_complex:
        return
    lowest, beyond = _limits(network.dtype)
    wrong = (rows != rows.trunc()) | (rows < lowest) | (rows >= beyond)
    if bool(wrong.any()):
        row, column = divmod(int(wrong.reshape(-1).to(torch.uint8).argmax()), rows.shape[1])
        name = str(network.dtype).removeprefix("torch.")
        raise ValueError(
            f"expected {name} input, got {float(rows[row, column]):g} in row {row}, column {column}; "
            f"send integers from {int(lowest)} to {int(beyond) - 1}"
        )


def _limits(dtype: torch.dtype) -> tuple[float, float]:
    """The lowest value of an integer dtype, and its highest plus one; both are exact in float32."""
    if dtype is torch.bool:
        return 0.0, 2.0
    limits = torch.iinfo(dtype)
    return float(limits.min), float(limits.max + 1)


def forward_float32(outputs: Any, rows: int, kind: Outputs) -> torch.Tensor:
    """The outputs of a network as float32 (rows, classes or outputs). Raises `UserCodeError` for any other shape.

    A single output p of a binary classifier becomes (1 - p, p).
    """
    if not isinstance(outputs, torch.Tensor):
        raise UserCodeError(f"the network returned a {type(outputs).__name__}; return one tensor")
    if outputs.ndim == 0 or outputs.shape[0] != rows:
        raise UserCodeError(
            f"the network returned shape {tuple(outputs.shape)} for {rows} rows; the first dimension must be the rows"
        )
    if outputs.ndim != 2 and (kind is Outputs.VALUES or outputs.ndim == 1):
        outputs = outputs.reshape(rows, -1)
    if outputs.ndim != 2:
        raise UserCodeError(f"the network returned shape {tuple(outputs.shape)}; expected (rows, classes)")
    values: torch.Tensor = outputs.float()
    if kind is Outputs.VALUES:
        return values
    if kind is Outputs.LOGITS:
        values = torch.softmax(values, dim=1) if values.shape[1] > 1 else torch.sigmoid(values)
    return values if values.shape[1] > 1 else torch.cat([1 - values, values], dim=1)


def build_network(build: Build, header: NetworkManifest, weights: Mapping[str, torch.Tensor]) -> FlatInputAdapter:
    """The network that `build` returns for the parameters, with these weights, in evaluation mode; on the CPU.

    Raises `UserCodeError` if `build` fails, or returns a network of another architecture.
    """
    network = _call_build(build, header)
    try:
        network.load_state_dict(dict(weights), strict=True)
    except Exception as error:
        text = " ".join(str(error).split())
        raise UserCodeError(
            f"the saved weights do not fit the network that {header.build} returned "
            f"for {_format_params(header.params)}: "
            f"{text[:600]}"
        ) from error
    return FlatInputAdapter(network, header.shape, dtype_of(header.dtype), header.outputs).eval()


def _call_build(build: Build, header: NetworkManifest) -> nn.Module:
    try:
        network = build(dict(header.params))
    except Exception as error:
        raise UserCodeError(
            f"{header.build} raised {type(error).__name__}: {error} (with {_format_params(header.params)})"
        ) from error
    if not isinstance(network, nn.Module):
        raise UserCodeError(f"{header.build} returned a {type(network).__name__}; expected a torch.nn.Module")
    return network


def dtype_of(name: str) -> torch.dtype:
    """The dtype of a name such as `float32`. Raises `UserCodeError`."""
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise UserCodeError(f"unsupported dtype {name!r}")
    return found


def _format_params(params: Mapping[str, Any]) -> str:
    text = ", ".join(f"{name}={value!r}" for name, value in params.items())
    return text if len(text) <= 300 else f"{text[:300]}…"
