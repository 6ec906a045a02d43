"""Saves the predictions of a user's trial on the rows that select and fit ensembles; trial process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from podium.sweep.data.memory_mapped_datasets import Dataset
from podium.sweep.networks import weight_files
from podium.sweep.networks.ensemble_network_adapter import forward_float32
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.predictions_file_keys import TARGETS, TARGETS_SHA256
from podium.sweep.values.saved_network_manifest import Outputs

SPLITS = ("validation", "calibration")
_SUM_TOLERANCE = 1e-3  # of the sum of a row's probabilities

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class SplitPredictions:
    """The predictions of one split, float32 (rows, classes or outputs), and their targets, if given."""

    predictions: NDArray[np.float32]
    targets: NDArray[Any] | None


def save(
    path: Path,
    predictions: Mapping[str, Any],
    targets: Mapping[str, Any] | None,
    outputs: str | None,
    data: Dataset | None,
) -> dict[str, NDArray[np.float32]]:
    """Check the predictions of each split, and write them to `path` as float32 (rows, outputs); returns them.

    Without `data`, the sweep's data set, the `targets` are required, and saved too. Raises `UserCodeError`.
    """
    _check_names(predictions, targets, data)
    if outputs is not None and outputs not in set(Outputs):
        raise UserCodeError(f"save_predictions(outputs={outputs!r}): expected one of {', '.join(Outputs)}")
    checked = {
        split: _checked(split, predictions[split], targets=targets, outputs=outputs, data=data) for split in predictions
    }
    arrays = {split: each.predictions for split, each in checked.items()}
    if len({array.shape[1] for array in arrays.values()}) > 1:
        shapes = ", ".join(f"{split} {array.shape}" for split, array in arrays.items())
        raise UserCodeError(f"save_predictions: all splits must have the same number of outputs, got {shapes}")
    given = {f"{TARGETS}{split}": each.targets for split, each in checked.items() if each.targets is not None}
    metadata = {TARGETS_SHA256: _digest(given)} if given else {}
    weight_files.save_arrays({**arrays, **given}, path, metadata)
    return arrays


def _check_names(predictions: Mapping[str, Any], targets: Mapping[str, Any] | None, data: Dataset | None) -> None:
    if not predictions:
        raise UserCodeError("save_predictions: give at least {'validation': array}")
    for split in predictions:
        if split not in SPLITS:
            more = "; the test split is reserved for the final evaluation" if split == "test" else ""
            raise UserCodeError(f"save_predictions: unknown split {split!r}; expected validation or calibration{more}")
    if data is not None and targets is not None:
        raise UserCodeError("save_predictions: omit targets; those of program.data are used")
    if data is None and (targets is None or set(targets) != set(predictions)):
        raise UserCodeError(
            "save_predictions: the targets of these rows are unknown; pass targets={…} for the same splits, or set "
            "program.data in the sweep file"
        )


def _checked(
    split: str, array: Any, targets: Mapping[str, Any] | None, outputs: str | None, data: Dataset | None
) -> SplitPredictions:
    raw = _array(f"predictions of {split}", array)
    given = None if targets is None else _targets(split, targets[split], values=outputs == Outputs.VALUES)
    kind = _kind(outputs, data, given)
    found = forward_float32(torch.from_numpy(raw), len(raw), kind).numpy()
    if not np.isfinite(found).all():
        raise UserCodeError(f"save_predictions: the predictions of {split} contain NaN or infinity")
    if kind is not Outputs.VALUES:
        _check_probabilities(split, found)
    _check_shape(split, found, given, data)
    return SplitPredictions(np.ascontiguousarray(found), given)


def _kind(outputs: str | None, data: Dataset | None, targets: NDArray[Any] | None) -> Outputs:
    if outputs is not None:
        return Outputs(outputs)
    regression = data.task == "regression" if data is not None else targets is not None and targets.ndim == 2
    return Outputs.VALUES if regression else Outputs.PROBABILITIES


def _array(what: str, value: Any) -> NDArray[Any]:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().float().numpy() if value.is_floating_point() else value.detach().cpu().numpy()
    array = np.array(value)  # a copy, since a memory map may be read-only
    if array.dtype.kind not in "fiub" or array.ndim not in (1, 2) or not array.size:
        raise UserCodeError(
            f"save_predictions: {what} have dtype {array.dtype}, shape {array.shape}; expected numbers (rows, outputs)"
        )
    return array


def _targets(split: str, value: Any, *, values: bool) -> NDArray[Any]:
    """Class indices (rows,) as int64, or values (rows, outputs) as float32; floats are always values."""
    array = _array(f"targets of {split}", value)
    if array.dtype.kind in "iub" and not values:
        if array.ndim != 1:
            raise UserCodeError(f"save_predictions: targets of {split} have shape {array.shape}; expected (rows,)")
        return array.astype(np.int64)
    if not np.isfinite(array).all():
        raise UserCodeError(f"save_predictions: the targets of {split} contain NaN or infinity")
    return np.ascontiguousarray(array.reshape(len(array), -1), dtype=np.float32)


def _check_probabilities(split: str, array: NDArray[np.float32]) -> None:
    if array.min() < -_SUM_TOLERANCE or np.abs(array.sum(axis=1) - 1).max() > _SUM_TOLERANCE:
        raise UserCodeError(
            f"save_predictions: the predictions of {split} are not probabilities; pass one per class, or "
            "outputs='logits' or outputs='values'"
        )


def _check_shape(split: str, array: NDArray[np.float32], targets: NDArray[Any] | None, data: Dataset | None) -> None:
    """Raise `UserCodeError` unless rows and outputs match those of the data, or of the given targets."""
    rows = len(data.rows[split]) if data is not None else len(targets) if targets is not None else len(array)
    if len(array) != rows:
        raise UserCodeError(f"save_predictions: {len(array)} predictions for {rows} rows of {split}")
    if data is not None and array.shape[1] != len(data.classes):
        raise UserCodeError(
            f"save_predictions: {split} has {array.shape[1]} outputs per row, but the data has "
            f"{len(data.classes)} classes"
        )
    if targets is None:
        return
    if targets.ndim == 2 and targets.shape != array.shape:
        raise UserCodeError(
            f"save_predictions: {split} has shape {array.shape}, but its targets have shape {targets.shape}"
        )
    if targets.ndim == 1 and not 0 <= targets.min() <= targets.max() < array.shape[1]:
        raise UserCodeError(
            f"save_predictions: the targets of {split} are in [{targets.min()}, {targets.max()}]; with "
            f"{array.shape[1]} classes they must be in [0, {array.shape[1] - 1}]"
        )


def _digest(arrays: Arrays) -> str:
    """A digest of the targets and their order."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}\0{array.dtype}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
