"""What a user's trial says of the rows that select and fit an ensemble, checked and kept; trial process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from podium.sweep.data.datasets import Dataset
from podium.sweep.networks import checkpoints
from podium.sweep.networks.flat_input import answers_of
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.network_manifest import TARGETS, TARGETS_SHA256, Outputs

SPLITS = ("validation", "calibration")
_SUM = 1e-3  # probabilities of a row may be so far off 1

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Answers:
    """What networks answer of one split, float32 (rows, classes or outputs), and what is true where that is ours."""

    said: NDArray[np.float32]
    targets: NDArray[Any] | None


def save(
    path: Path,
    predictions: Mapping[str, Any],
    targets: Mapping[str, Any] | None,
    outputs: str | None,
    data: Dataset | None,
) -> dict[str, NDArray[np.float32]]:
    """Check the arrays, by split, and write them to `path`, float32 (rows, outputs); returns what was written.

    Raises `UserCodeError` saying what is wrong with which.

    `data` are the shared splits; without, `targets` has what is true of each row, and is kept with them.
    """
    _check_names(predictions, targets, data)
    if outputs is not None and outputs not in set(Outputs):
        raise UserCodeError(f"save_predictions(outputs={outputs!r}): one of {', '.join(Outputs)} is wanted")
    kept = {split: _answers(split, predictions[split], targets, outputs, data) for split in predictions}
    if len({answers.said.shape[1] for answers in kept.values()}) > 1:
        shapes = ", ".join(f"{split} {answers.said.shape}" for split, answers in kept.items())
        raise UserCodeError(f"save_predictions: as many outputs in each split, not {shapes}")
    true = {f"{TARGETS}{split}": a.targets for split, a in kept.items() if a.targets is not None}
    said = {split: answers.said for split, answers in kept.items()}
    metadata = {TARGETS_SHA256: _digest(true)} if true else {}
    checkpoints.save_arrays({**said, **true}, path, metadata)
    return said


def _check_names(predictions: Mapping[str, Any], targets: Mapping[str, Any] | None, data: Dataset | None) -> None:
    if not predictions:
        raise UserCodeError("save_predictions: give at least {'validation': array}")
    for split in predictions:
        if split not in SPLITS:
            more = "; the test split is for the report alone" if split == "test" else ""
            raise UserCodeError(f"save_predictions: no {split!r}, but validation and calibration{more}")
    if data is not None and targets is not None:
        raise UserCodeError("save_predictions: leave targets out, those of program.data are known")
    if data is None and (targets is None or set(targets) != set(predictions)):
        raise UserCodeError(
            "save_predictions: it is not known what is true of these rows; give targets={…} for the same splits, or "
            "let the sweep file name the data as program.data"
        )


def _answers(
    split: str, array: Any, targets: Mapping[str, Any] | None, outputs: str | None, data: Dataset | None
) -> Answers:
    said = _array(f"predictions of {split}", array)
    true = None if targets is None else _targets(split, targets[split], values=outputs == Outputs.VALUES)
    kind = _kind(outputs, data, true)
    found = answers_of(torch.from_numpy(said), len(said), kind).numpy()
    if not np.isfinite(found).all():
        raise UserCodeError(f"save_predictions: the predictions of {split} are not all finite")
    if kind is not Outputs.VALUES:
        _check_probabilities(split, found)
    _check_fits(split, found, true, data)
    return Answers(np.ascontiguousarray(found), true)


def _kind(outputs: str | None, data: Dataset | None, targets: NDArray[Any] | None) -> Outputs:
    if outputs is not None:
        return Outputs(outputs)
    regression = data.task == "regression" if data is not None else targets is not None and targets.ndim == 2
    return Outputs.VALUES if regression else Outputs.PROBABILITIES


def _array(what: str, value: Any) -> NDArray[Any]:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().float().numpy() if value.is_floating_point() else value.detach().cpu().numpy()
    array = np.array(value)  # a copy of its own: a memory map may be read-only
    if array.dtype.kind not in "fiub" or array.ndim not in (1, 2) or not array.size:
        raise UserCodeError(f"save_predictions: {what} have shape {array.shape}; (rows, outputs) numbers are wanted")
    return array


def _targets(split: str, value: Any, *, values: bool) -> NDArray[Any]:
    """Classes (rows,) int64; values (rows, outputs) float32, which numbers with a point are, too."""
    array = _array(f"targets of {split}", value)
    if array.dtype.kind in "iub" and not values:
        if array.ndim != 1:
            raise UserCodeError(f"save_predictions: targets of {split} have shape {array.shape}; (rows,) is wanted")
        return array.astype(np.int64)
    if not np.isfinite(array).all():
        raise UserCodeError(f"save_predictions: the targets of {split} are not all finite")
    return np.ascontiguousarray(array.reshape(len(array), -1), dtype=np.float32)


def _check_probabilities(split: str, said: NDArray[np.float32]) -> None:
    if said.min() < -_SUM or np.abs(said.sum(axis=1) - 1).max() > _SUM:
        raise UserCodeError(
            f"save_predictions: these of {split} are no probabilities; give those of each class, or say "
            "outputs='logits' or outputs='values'"
        )


def _check_fits(split: str, said: NDArray[np.float32], targets: NDArray[Any] | None, data: Dataset | None) -> None:
    """As many rows and outputs as there are in the data, or in the targets that were given."""
    rows = len(data.rows[split]) if data is not None else len(targets) if targets is not None else len(said)
    if len(said) != rows:
        raise UserCodeError(f"save_predictions: {len(said)} predictions for {rows} rows of {split}")
    if data is not None and said.shape[1] != len(data.classes):
        raise UserCodeError(
            f"save_predictions: {split} has {said.shape[1]} outputs a row, the data {len(data.classes)} classes"
        )
    if targets is None:
        return
    if targets.ndim == 2 and targets.shape != said.shape:
        raise UserCodeError(f"save_predictions: {split} says {said.shape}, its targets have shape {targets.shape}")
    if targets.ndim == 1 and not 0 <= targets.min() <= targets.max() < said.shape[1]:
        raise UserCodeError(
            f"save_predictions: the targets of {split} go from {targets.min()} to {targets.max()}; of {said.shape[1]} "
            f"classes they are 0 to {said.shape[1] - 1}"
        )


def _digest(arrays: Arrays) -> str:
    """The same for the same targets, in the same order."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}\0{array.dtype}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
