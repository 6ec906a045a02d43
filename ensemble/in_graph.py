"""All networks and the aggregation as one module, each network on its device; the in-graph worker.

Géron 2017, chapter 12, figure 12-12: one graph, every prediction awaited, all or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn


class InGraphEnsemble(nn.Module):
    """Maps rows (n, features) to the members' probabilities (members, n, classes) and their weighted mean.

    The mean is summed in member order in float32, as `combine.mean` does, so both modes give the same numbers.
    """

    weights: torch.Tensor

    def __init__(self, members: Sequence[tuple[nn.Module, torch.device]], weights: Sequence[float]) -> None:
        super().__init__()
        self.members = nn.ModuleList(model for model, _ in members)
        self._devices = [device for _, device in members]
        weight = torch.tensor(weights, dtype=torch.float32)
        self.register_buffer("weights", weight / weight.sum())

    def forward(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        # Launched on all devices before anything is awaited: a GPU launch does not block.
        launched = [
            torch.softmax(model(inputs.to(device, non_blocking=True)).float(), dim=1)
            for model, device in zip(self.members, self._devices, strict=True)
        ]
        predictions = torch.stack([prediction.to(self.weights.device) for prediction in launched])
        combined = torch.zeros_like(predictions[0])
        for weight, prediction in zip(self.weights, predictions, strict=True):
            combined += weight * prediction
        return predictions, combined
