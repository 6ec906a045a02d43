"""Model files as networks that answer with probabilities: one, or all of them as one program; member processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ensemble.in_graph import InGraphEnsemble
from sweep import checkpoints, models
from sweep.errors import EnsembleError


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A member's weights: where they lie, what they must be, and on which of the visible devices they go."""

    path: str
    sha256: str
    weight: float
    device_index: int


class Network(Protocol):
    """What a worker runs: rows in, predictions of each of its members out, and their combination in-graph."""

    def predict(self, inputs: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]: ...


class SingleNetwork:
    """One network: a between-graph member."""

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        self._model = model
        self._device = device

    @torch.inference_mode()
    def predict(self, inputs: NDArray[np.float32]) -> tuple[NDArray[np.float32], None]:
        logits = self._model(_tensor(inputs).to(self._device))
        return torch.softmax(logits.float(), dim=1).unsqueeze(0).cpu().numpy(), None


class WholeEnsemble:
    """All networks and their aggregation as one program."""

    def __init__(self, ensemble: InGraphEnsemble) -> None:
        self._ensemble = ensemble

    @torch.inference_mode()
    def predict(self, inputs: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        predictions, combined = self._ensemble(_tensor(inputs))
        return predictions.cpu().numpy(), combined.cpu().numpy()


def load(files: Sequence[ModelFile], *, in_graph: bool) -> Network:
    """The network of a worker. Raises `EnsembleError` naming the file that is missing, damaged or not ours."""
    loaded = [(_load_one(file), file) for file in files]
    if in_graph:
        return WholeEnsemble(
            InGraphEnsemble([(model, device) for (model, device), _ in loaded], [f.weight for f in files])
        )
    ((model, device), _) = loaded[0]
    return SingleNetwork(model, device)


def _load_one(file: ModelFile) -> tuple[nn.Module, torch.device]:
    weights, metadata = checkpoints.load_weights(Path(file.path), file.sha256)
    try:
        architecture: dict[str, Any] = checkpoints.architecture_of(metadata)
        model = models.build(architecture)
        model.load_state_dict(weights)
    except Exception as error:
        raise EnsembleError(f"{file.path} is not a model of ours: {error}") from error
    device = torch.device("cuda", file.device_index) if torch.cuda.is_available() else torch.device("cpu")
    return model.to(device).eval(), device


def _tensor(inputs: NDArray[np.float32]) -> torch.Tensor:
    return torch.from_numpy(inputs if inputs.flags.writeable else inputs.copy())
