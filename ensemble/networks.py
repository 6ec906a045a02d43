"""Model files as networks that answer with probabilities or values: one, or all of them as one program; worker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ensemble.grouping import Placed
from ensemble.in_graph import WholeEnsemble
from ensemble.network import ModelFile, Predicted
from ensemble.spec import Combination, Precision, Task
from sweep import checkpoints, models
from sweep.errors import EnsembleError

__all__ = ["Answering", "ModelFile", "SingleNetwork", "WholeEnsemble", "load"]

WARM_ROWS = (1, 64)
_COMPUTED_IN_FLOAT32 = (models.Standardize, models.Rescale)  # raw rows and targets may be large


class Answering(nn.Module):
    """A network whose answers, float32 (rows, outputs), are probabilities, or values when the task is regression."""

    def __init__(self, model: nn.Module, task: Task) -> None:
        super().__init__()
        self.model = model
        self._classifies = task is Task.CLASSIFICATION

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.model(rows).float()
        return torch.softmax(outputs, dim=1) if self._classifies else outputs

    def extra_repr(self) -> str:
        return "probabilities" if self._classifies else "values"


class SingleNetwork:
    """One network: a between-graph member; a `Network`."""

    def __init__(self, placed: Placed) -> None:
        self._placed = placed

    @torch.inference_mode()
    def predict(self, inputs: NDArray[np.float32]) -> Predicted:
        """Its answers, as the only member's. Raises what the network raises."""
        rows = torch.from_numpy(inputs if inputs.flags.writeable else inputs.copy())
        answers = self._placed.module(rows.to(self._placed.device))
        return Predicted(answers.unsqueeze(0).cpu().numpy(), {}, None)

    def warm(self, features: int) -> None:
        """Compute once as small and once as large as most requests are: the first time is slow."""
        for rows in WARM_ROWS:
            self.predict(np.zeros((rows, features), dtype=np.float32))

    def plan(self) -> dict[str, Any]:
        """There is nothing to choose."""
        return {}


def load(
    files: Sequence[ModelFile], *, in_graph: bool, combination: Combination, precision: Precision
) -> SingleNetwork | WholeEnsemble:
    """The network of a worker. Raises `EnsembleError` naming the file that is missing, damaged or not ours."""
    members = [_load_one(file, precision) for file in files]
    if in_graph:
        return WholeEnsemble(members, combination, getattr(torch, precision.value))
    (member,) = members
    return SingleNetwork(member)


def _load_one(file: ModelFile, precision: Precision) -> Placed:
    weights, metadata = checkpoints.load_weights(Path(file.path), file.sha256)
    try:
        architecture: dict[str, Any] = checkpoints.architecture_of(metadata)
        model = models.build(architecture)
        model.load_state_dict(weights)
        task = Task(architecture.get("task", Task.CLASSIFICATION))
    except Exception as error:
        raise EnsembleError(f"{file.path} is not a model of ours: {error}") from error
    if precision is Precision.BFLOAT16:
        model = _in_bfloat16(model)
    device = torch.device("cuda", file.device_index) if torch.cuda.is_available() else torch.device("cpu")
    return Placed(Answering(model, task).to(device).eval(), device, file.device_index)


class _Rounded(nn.Module):
    """Goes on in bfloat16."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows.to(torch.bfloat16)


def _in_bfloat16(model: nn.Module) -> nn.Module:
    """Weights and computing in bfloat16, from the standardized rows to the last layer."""
    layers = [
        layer if isinstance(layer, _COMPUTED_IN_FLOAT32) else layer.to(torch.bfloat16) for layer in model.children()
    ]
    return nn.Sequential(layers[0], _Rounded(), *layers[1:])
