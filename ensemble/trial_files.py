"""What a finished trial left for ensembles: its model's header, its predictions; api and host, never loads a model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from ensemble.spec import Split, Task
from ensemble.version import TrialFiles
from sweep.errors import EnsembleError
from sweep.files import sha256_of
from sweep.layout import AttemptDirectory, DataDirectory


@dataclass(frozen=True, slots=True)
class Architecture:
    """What a model file says of itself, as far as an ensemble must know it."""

    task: Task
    classes: tuple[str, ...]  # regression: the names of the outputs
    features: int
    data: dict[str, Any]
    split: dict[str, Any]


def model_path(data: DataDirectory, trial: TrialFiles) -> Path:
    """Where the model lies."""
    assert trial.model_attempt is not None
    return AttemptDirectory(data.attempt(trial.sweep_id, trial.number, trial.model_attempt)).model


def read_architecture(path: Path) -> Architecture:
    """From the header alone. Raises `EnsembleError` when it cannot be read, or is not one of ours."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
        values: dict[str, Any] = json.loads(metadata["architecture"])
        return Architecture(
            task=Task(values.get("task", "classification")),
            classes=tuple(values["labels"]),
            features=int(np.prod(values["image"])),
            data=values["data"],
            split=values["split"],
        )
    except OSError as error:
        raise EnsembleError(f"cannot read {path}: {error}") from error
    except KeyError:
        raise EnsembleError(f"{path} does not say its architecture; it was not saved by a built-in model") from None
    except Exception as error:
        raise EnsembleError(f"{path} is damaged: {error}") from error


def check_model(path: Path, sha256: str) -> None:
    """Raises `EnsembleError` when the file is not the one that the trial saved."""
    try:
        found = sha256_of(path)
    except OSError as error:
        raise EnsembleError(f"cannot read {path}: {error.strerror}") from error
    if found != sha256:
        raise EnsembleError(f"{path} is damaged: its SHA-256 is not the one recorded")


def read_predictions(data: DataDirectory, trial: TrialFiles, split: Split) -> NDArray[np.float32]:
    """What the trial's best model said of a split, (rows, outputs), in the order of the data set's split.

    Raises `EnsembleError` when it left no predictions.
    """
    if trial.predictions_attempt is None:
        raise EnsembleError(
            f"trial {trial.trial_id} left no predictions; use select top_k or trial_ids, with a rule that needs no fit"
        )
    path = AttemptDirectory(data.attempt(trial.sweep_id, trial.number, trial.predictions_attempt)).predictions
    try:
        with safe_open(path, framework="numpy") as file:
            return np.asarray(file.get_tensor(split.value), dtype=np.float32)
    except Exception as error:
        raise EnsembleError(f"cannot read the predictions of trial {trial.trial_id} ({path}): {error}") from error
