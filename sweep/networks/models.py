"""Builds the built-in networks from their name and settings; trial processes and members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from podium.sweep.spec import builtin_catalog
from podium.sweep.values.errors import EnsembleError

_ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh}


class Standardize(nn.Module):
    """(x - mean) / deviation, with the statistics of the training split. Part of the model, whose input is raw rows.

    `mean` and `deviation` have one value for all features, or one for each.
    """

    mean: torch.Tensor
    deviation: torch.Tensor

    def __init__(self, mean: float | Sequence[float], deviation: float | Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32))
        self.register_buffer("deviation", torch.tensor(deviation, dtype=torch.float32))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return (inputs.to(torch.float32) - self.mean) / self.deviation


class Rescale(nn.Module):
    """y * deviation + mean, with the statistics of the training targets: the output is in the units of the target."""

    mean: torch.Tensor
    deviation: torch.Tensor

    def __init__(self, mean: Sequence[float], deviation: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32))
        self.register_buffer("deviation", torch.tensor(deviation, dtype=torch.float32))

    def forward(self, outputs: torch.Tensor) -> torch.Tensor:
        return outputs.to(torch.float32) * self.deviation + self.mean


def build(architecture: Mapping[str, Any]) -> nn.Module:
    """The network of `architecture`, which maps raw rows (n, features) to logits (n, classes).

    Keys: `model`, `settings`, `image` (channels, height, width), `classes`, `mean`, `deviation` (a number, or a list
    of one per feature). With `task` "regression", `classes` is the number of outputs, and `target_mean` and
    `target_deviation` are lists of one per output; the network returns values (n, outputs) in the units of the target.
    Raises `EnsembleError` for an unknown model.
    """
    name = architecture["model"]
    if name not in builtin_catalog.MODELS:
        raise EnsembleError(f"unknown model {name!r}")
    body = _mlp if name == "mlp" else _cnn
    layers = body(architecture["settings"], architecture["image"], architecture["classes"])
    if architecture.get("task") == "regression":
        layers.append(Rescale(architecture["target_mean"], architecture["target_deviation"]))
    return nn.Sequential(Standardize(architecture["mean"], architecture["deviation"]), *layers)


def _mlp(settings: Mapping[str, Any], image: tuple[int, int, int], classes: int) -> list[nn.Module]:
    channels, height, width = image
    inputs = channels * height * width
    layers: list[nn.Module] = []
    for _ in range(int(settings["layers"])):
        layers += [nn.Linear(inputs, int(settings["hidden"])), _ACTIVATIONS[settings["activation"]]()]
        layers += [nn.Dropout(settings["dropout"])] if settings["dropout"] else []
        inputs = int(settings["hidden"])
    return [*layers, nn.Linear(inputs, classes)]


def _cnn(settings: Mapping[str, Any], image: tuple[int, int, int], classes: int) -> list[nn.Module]:
    channels, height, width = image
    layers: list[nn.Module] = [nn.Unflatten(1, (channels, height, width))]
    filters = int(settings["channels"])
    for block in range(int(settings["blocks"])):
        outputs = filters * 2**block
        layers += [nn.Conv2d(channels, outputs, kernel_size=3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
        if height >= 2 and width >= 2:
            layers.append(nn.MaxPool2d(2))
            height, width = height // 2, width // 2
        channels = outputs
    layers += [nn.Flatten(), nn.Linear(channels * height * width, int(settings["hidden"])), nn.ReLU()]
    layers += [nn.Dropout(settings["dropout"])] if settings["dropout"] else []
    return [*layers, nn.Linear(int(settings["hidden"]), classes)]
