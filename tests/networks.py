"""Small networks as the fit loop saves them, and faulty members."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Rule, Task
from podium.ensemble.worker.architecture_groups import PlacedNetwork
from podium.ensemble.worker.in_graph_network import InGraphNetwork
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.ensemble.worker.network_loading import ServingModule
from podium.sweep.networks import models, weight_files
from podium.sweep.runtime.safe_file_reads import sha256_of

CPU = torch.device("cpu")
IMAGE = (1, 8, 8)
ROWS = np.random.default_rng(0).uniform(0, 16, (17, 64)).astype(np.float32)
MLP = {"hidden": 12, "layers": 2, "dropout": 0.3, "activation": "gelu"}
CNN = {"channels": 3, "blocks": 2, "hidden": 10, "dropout": 0.2}


def architecture(model: str = "mlp", settings: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    known = {"model": model, "settings": settings or {"mlp": MLP, "cnn": CNN}[model], "image": IMAGE, "classes": 4}
    return {**known, "mean": 4.9, "deviation": 6.0, **changes}


def network(seed: int, model: str = "mlp", **changes: Any) -> nn.Module:
    """A network with its own weights, and batch norms with running statistics."""
    torch.manual_seed(seed)
    built = models.build(architecture(model, **changes))
    built.train()(torch.from_numpy(ROWS * (1 + seed)))
    return built.eval()


def saved(folder: Path, seed: int, model: str = "mlp", **changes: Any) -> ModelFile:
    """A network as the fit loop saves it."""
    path = folder / f"{model}-{seed}.safetensors"
    known = {"architecture": json.dumps(architecture(model, **changes))}
    weight_files.save_weights(network(seed, model, **changes), path, known)
    return ModelFile(str(path), sha256_of(path), 0)


def placed(module: nn.Module, slot: int = 0, task: Task = Task.CLASSIFICATION) -> PlacedNetwork:
    return PlacedNetwork(ServingModule(module, task).eval(), CPU, slot)


def combination(weights: Sequence[float], rule: Rule = Rule.WEIGHTED, task: Task = Task.CLASSIFICATION) -> Combination:
    return Combination(task, rule, tuple(weight / sum(weights) for weight in weights))


def traced_network(
    members: Sequence[PlacedNetwork], weights: Sequence[float] | None = None, **options: Any
) -> InGraphNetwork:
    """The members as one program; `options` are those of `InGraphNetwork`."""
    return InGraphNetwork(members, combination(weights or [1.0] * len(members)), **options)


class FailsOnValue(nn.Module):
    """Raises for rows that start with `at`, like a network with an index out of range for some inputs."""

    at: torch.Tensor

    def __init__(self, model: nn.Module, at: float) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("at", torch.tensor(at))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        if bool(torch.isin(self.at, rows[:, 0])):
            raise ArithmeticError("such a row is not to my taste")
        outputs: torch.Tensor = self.model(rows)
        return outputs


class ReturnsNan(nn.Module):
    """A network whose weights diverged to NaN."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.full((len(rows), 4), torch.nan)
