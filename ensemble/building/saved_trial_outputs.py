"""Reads what finished trials saved for ensembles: model headers and predictions; api and host processes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from podium.ensemble.values.ensemble_spec import Split, Task
from podium.ensemble.values.member_candidate import TrialFiles
from podium.sweep.data import memory_mapped_datasets
from podium.sweep.data.memory_mapped_datasets import Dataset
from podium.sweep.file_store import object_store_fetch_client
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.safe_file_reads import check_regular, display_path, sha256_of
from podium.sweep.values.errors import ChangedDataError, EnsembleError, FileStoreError
from podium.sweep.values.predictions_file_keys import TARGETS, TARGETS_SHA256
from podium.sweep.values.saved_network_manifest import (
    NetworkManifest,
    NotExportable,
    code_digest,
    is_data,
    is_names,
    is_sha256,
    is_shape,
    is_split,
    read_header,
)


@dataclass(frozen=True, slots=True)
class Architecture:
    """The properties of a model that matter to an ensemble, from its file's header."""

    task: Task
    classes: tuple[str, ...]  # regression: names of the outputs
    features: int
    data: dict[str, Any] | None  # None: a user's trial that loaded its own data
    split: dict[str, Any]
    is_users: bool = False
    bundle: str | None = None  # code bundle of a user's network
    code_sha256: str = ""
    rows_sha256: str | None = None  # hash of the rows in their splits; None if the file has none

    def same_rows(self, other: Architecture) -> bool:
        """Whether both were trained with the same rows in the same splits."""
        if self.rows_sha256 is not None and other.rows_sha256 is not None:
            return self.rows_sha256 == other.rows_sha256
        return (self.data, self.split) == (other.data, other.split)

    def load_rows(self, cache: Path) -> Dataset:
        """Load the data set it was trained with. Raises `EnsembleError` if its rows have changed."""
        assert self.data is not None
        try:
            data = memory_mapped_datasets.load(self.data, self.split, cache)
        except ChangedDataError:  # modification times do not matter here: the hash
            data = memory_mapped_datasets.load({**self.data, "source": None}, self.split, cache)
        if self.rows_sha256 not in (None, data.sha256):
            raise EnsembleError(
                f"the rows of {data.name} have changed since the trials were trained; restore the source, or post rows "
                "to evaluate on"
            )
        return data


def model_path(data: DataDirectory, trial: TrialFiles) -> Path:
    """The path of a trial's model file."""
    assert trial.model_folder is not None
    return AttemptDirectory(data.trials / trial.model_folder).model


def read_architecture(path: Path, data: DataDirectory | None = None) -> Architecture:
    """Read a model file's header, with `data` also if the file is only in the object store, and is not fetched for it.

    Raises `EnsembleError` if it is unreadable or not a Podium model.
    """
    try:
        metadata = _metadata(path, data)
        if (user := read_header(metadata)) is not None:
            return _of_user(user)
        values: dict[str, Any] = json.loads(metadata["architecture"])
        if (wrong := _first_invalid_key(values)) is not None:
            raise EnsembleError(f"{display_path(path)} is damaged: invalid {wrong}: {values.get(wrong)!r:.80}")
        return Architecture(
            task=Task(values.get("task", "classification")),
            classes=tuple(values["labels"]),
            features=int(np.prod(values["image"])),
            data=values["data"],
            split=values["split"],
            rows_sha256=values.get("rows_sha256"),
        )
    except OSError as error:
        raise EnsembleError(f"cannot read {display_path(path)}: {error.strerror}") from error
    except EnsembleError:
        raise
    except KeyError:
        raise EnsembleError(f"{display_path(path)} has no architecture; it was not saved by a built-in model") from None
    except Exception as error:
        raise EnsembleError(f"{display_path(path)} is damaged: {error}") from error


def _metadata(path: Path, data: DataDirectory | None) -> dict[str, str]:
    """Raises `OSError`, `EnsembleError`, and the exceptions of safetensors for a damaged file."""
    try:
        stored = None if data is None else object_store_fetch_client.header(data, path)
    except FileStoreError as error:
        raise EnsembleError(f"cannot read {display_path(path)}: {error}") from error
    if stored is not None:
        return stored
    check_regular(path)
    with safe_open(path, framework="numpy") as file:
        return dict(file.metadata() or {})


def _first_invalid_key(values: dict[str, Any]) -> str | None:
    """The first key of a built-in model's header with an invalid value."""
    rows_sha256 = values.get("rows_sha256")
    allowed = {
        "labels": is_names(values["labels"]),
        "image": is_shape(values["image"]),
        "data": is_data(values["data"]),
        "split": is_split(values["split"], needed=True),
        "rows_sha256": rows_sha256 is None or is_sha256(rows_sha256),
    }
    return next((key for key, sound in allowed.items() if not sound), None)


def not_exportable_reason(path: Path, data: DataDirectory) -> str | None:
    """Why the network in a file cannot join an ensemble, according to its header; None if it can."""
    try:
        read_architecture(path, data)
    except EnsembleError as error:
        return str(error)
    return None


def _of_user(header: NetworkManifest | NotExportable) -> Architecture:
    if isinstance(header, NotExportable):
        raise EnsembleError(f"its network cannot join an ensemble: {header.reason}")
    return Architecture(
        task=Task(header.task),
        classes=header.classes,
        features=header.features,
        data=header.data,
        split=header.split,
        is_users=True,
        rows_sha256=header.rows_sha256,
        bundle=header.bundle,
        code_sha256=header.code_sha256,
    )


def check_code(data: DataDirectory, bundle: str | None, code_sha256: str) -> Path:
    """The folder of a user's code. Raises `EnsembleError` if its content differs from that of the trial."""
    if bundle is None:
        raise EnsembleError("its network cannot join an ensemble: its code is not in a bundle")
    folder = data.bundle(bundle)
    if not folder.is_dir():
        raise EnsembleError(f"the code of its network, bundle {bundle[:12]}, is missing from the data directory")
    if code_digest(folder) != code_sha256:
        raise EnsembleError(
            f"the code of its network, bundle {bundle[:12]}, has changed since the trial; restore the original"
        )
    return folder


def check_model(path: Path, sha256: str, data: DataDirectory) -> None:
    """Raise `EnsembleError` unless the file is the one that the trial saved. It is in the data directory then."""
    _ensure(data, path)
    try:
        found = sha256_of(path)
    except OSError as error:
        raise EnsembleError(f"cannot read {display_path(path)}: {error.strerror}") from error
    if found != sha256:
        raise EnsembleError(f"{display_path(path)} is damaged: its SHA-256 differs from the recorded one")


def _ensure(data: DataDirectory, path: Path) -> None:
    """Fetch a file that is only in the object store. Raises `EnsembleError`."""
    try:
        object_store_fetch_client.ensure(data, path)
    except (FileStoreError, OSError) as error:
        raise EnsembleError(f"cannot read {display_path(path)}: {error}") from error


def _predictions_path(data: DataDirectory, trial: TrialFiles) -> Path:
    assert trial.predictions_folder is not None
    return AttemptDirectory(data.trials / trial.predictions_folder).predictions


def read_predictions(data: DataDirectory, trial: TrialFiles, split: Split) -> NDArray[np.float32]:
    """The predictions of the trial's best model on a split, (rows, outputs), in the order of its rows.

    Raises `EnsembleError` if there are none.
    """
    if trial.predictions_folder is None:
        raise EnsembleError(
            f"{trial.name} saved no predictions; call trial.save_predictions in your function, or use "
            "select: top_k or trial_ids with a rule that needs no fit"
        )
    path = _predictions_path(data, trial)
    _ensure(data, path)
    try:
        check_regular(path)
        with safe_open(path, framework="numpy") as file:
            if split.value in file.keys():  # noqa: SIM118 - not a dictionary
                return np.asarray(file.get_tensor(split.value), dtype=np.float32)
    except OSError as error:
        raise EnsembleError(f"cannot read the predictions of {trial.name}: {error.strerror}") from error
    except Exception as error:
        raise EnsembleError(f"the predictions of {trial.name} are damaged: {error}") from error
    raise EnsembleError(f"{trial.name} saved no predictions on {split.value}; pass them to trial.save_predictions")


def targets_of(data: DataDirectory, trials: Sequence[TrialFiles], found: Architecture, split: Split) -> NDArray[Any]:
    """The targets of a split, (rows,) or (rows, outputs), for trials with the same `data` and `split`.

    Trials that loaded their own data saved them with their predictions. Raises `EnsembleError` if they differ.
    """
    if found.data is not None:
        return found.load_rows(data.data_cache).targets_of(split.value)
    (first, targets), *others = [_own_targets(data, trial, split) for trial in trials]
    for trial, (other, _) in zip(trials[1:], others, strict=True):
        if other != first:
            raise EnsembleError(
                f"{trial.name} saved its predictions with other targets than {trials[0].name}: "
                "these are not the same rows; use a rule that needs no fit, or trials of one sweep"
            )
    return targets


def _own_targets(data: DataDirectory, trial: TrialFiles, split: Split) -> tuple[str, NDArray[Any]]:
    """The digest of all targets that the trial saved, and those of the split."""
    read_predictions(data, trial, split)  # raises an error about the missing part
    path = _predictions_path(data, trial)
    with safe_open(path, framework="numpy") as file:
        return (file.metadata() or {})[TARGETS_SHA256], file.get_tensor(f"{TARGETS}{split.value}")
