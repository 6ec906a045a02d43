"""Data sets in memory-mapped arrays that all trials of a machine share; trial, ensemble worker and host processes.

The first process that loads a data set reads its source into the cache, atomically and under a lock; others map it
without copying. The api process checks the files before it accepts a sweep (`check`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.sweep.data.data_cache import get_or_build, save_arrays
from podium.sweep.data.data_source_opener import Source, open_source, paths
from podium.sweep.data.dataset_conversion import prepare
from podium.sweep.data.mean_and_std import mean_and_std
from podium.sweep.data.reader_interface import LIMITS, ReadLimits
from podium.sweep.data.splits import SPLITS, Rows, fold_rows, split_rows, strata
from podium.sweep.spec import builtin_catalog
from podium.sweep.values.errors import ChangedDataError, DataError

__all__ = ["SPLITS", "Dataset", "Moment", "SplitInputs", "check", "load", "load_folds", "source_of"]

Moment: TypeAlias = float | tuple[float, ...]  # one value for all pixels, or one for each column of a table


@dataclass(frozen=True, slots=True)
class Dataset:
    """All rows of a data set and its splits.

    `inputs` is (rows, features), memory-mapped, uint8 or float32, unscaled. `targets` is (rows,) int64 in
    classification, and (rows, outputs) float32 in regression, in the units of the source.
    """

    name: str
    task: builtin_catalog.Task
    inputs: NDArray[Any]
    targets: NDArray[Any]
    image: tuple[int, int, int]  # channels, height, width; features = their product; a table is 1 x 1 x columns
    columns: tuple[str, ...]  # of a table, if they have names
    classes: tuple[str, ...]  # the name of each class; in regression, of each output
    mean: Moment  # of the training split
    std: Moment
    target_mean: tuple[float, ...]  # of the training split, for each output; empty in classification
    target_std: tuple[float, ...]
    rows: Mapping[str, Rows]  # split -> row numbers, ascending
    sha256: str  # of the content and of `rows`: equal for equal rows in equal splits

    def split(self, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """The rows of one split, copied: inputs (n, features) and targets (n,) or (n, outputs).

        Rows are in ascending order of their row numbers, as in the predictions of a trial.
        """
        return self.inputs[self.rows[name]], self.targets_of(name)

    def inputs_of(self, name: str) -> SplitInputs:
        """The inputs of one split, in the order of `split`, copied by slicing only: `inputs[100:200]`."""
        return SplitInputs(self.inputs, self.rows[name])

    def targets_of(self, name: str) -> NDArray[Any]:
        """The targets of one split, without its inputs."""
        return self.targets[self.rows[name]]


@dataclass(frozen=True, slots=True)
class SplitInputs:
    """Rows that are read on demand, since they may exceed memory."""

    inputs: NDArray[Any]
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, some: slice) -> NDArray[Any]:
        return self.inputs[self.rows[some]]


def check(data: Mapping[str, Any], limits: ReadLimits = LIMITS) -> Source:
    """Checks the files of a data set by their headers; returns the source.

    Raises `DataError` with the invalid key of `data`.
    """
    return open_source(data, limits)


def source_of(data: Mapping[str, Any]) -> str | None:
    """A hash of path, size and modification time of each file. None for data that ships with a library.

    Raises `DataError` if a file is missing.
    """
    try:
        files = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in paths(data)]
    except OSError as error:
        raise DataError(f"cannot read {error.filename}: {error.strerror}") from error
    return _digest(files) if files else None


def load(data: Mapping[str, Any], split: Mapping[str, Any], cache: Path, limits: ReadLimits = LIMITS) -> Dataset:
    """Map the data set, and build the cache first if this machine has none.

    If `data` has a `source` (see `source_of`), these are the rows of that file state, even if the files have changed.
    `split` has `split` (four fractions) and `seed`. Raises `DataError` if the source cannot be read, or if a split
    would be empty.
    """
    folder, arrays, meta = _source(data, cache, limits)
    drawn = {"split": list(split["split"]), "seed": split["seed"]}
    made = get_or_build(_beside(folder, drawn), lambda to: _write_splits(to, arrays, meta, drawn))
    return Dataset(
        name=_name(data),
        task=meta["task"],
        inputs=arrays["inputs"],
        targets=arrays["targets"],
        image=tuple(meta["image"]),
        columns=tuple(meta["columns"]),
        classes=tuple(meta["classes"]),
        rows={name: made[name] for name in SPLITS},
        sha256=made["sha256"].tobytes().hex(),
        **_metadata(made),
    )


def load_folds(data: Mapping[str, Any], split: Mapping[str, Any], cache: Path) -> tuple[Dataset, ...]:
    """The data set for each of `split["folds"]` folds, with its rows of train and validation, and statistics."""
    whole = load(data, split, cache)
    folder, arrays, _ = _source(data, cache)
    drawn = {"split": list(split["split"]), "seed": split["seed"], "folds": split["folds"]}
    folds = []
    for fold in range(drawn["folds"]):
        made = get_or_build(_beside(folder, {**drawn, "fold": fold}), partial(_write_fold, arrays, whole, drawn, fold))
        rows = {**whole.rows, "train": made["train"], "validation": made["validation"]}
        folds.append(replace(whole, rows=rows, **_metadata(made)))
    return tuple(folds)


def cache_folder(data: Mapping[str, Any], cache: Path) -> Path:
    """The folder for the arrays of all rows, the same on each machine if `data` has a `source`. Raises `DataError`."""
    built_in = data.get("file") is None and data.get("idx") is None
    if built_in and data["name"] not in builtin_catalog.DATASETS:
        raise DataError(f"unknown data set {data['name']!r}", key="name")
    kind = data["name"] if built_in else "file" if data.get("file") is not None else "idx"
    files = data.get("source") or source_of(data)
    what = {key: data.get(key) for key in ("file", "idx", "target", "features", "task")}
    return cache / f"{kind}-{_digest({'name': None if files else data['name'], 'files': files, **what})}"


def prepare_cache(data: Mapping[str, Any], cache: Path, limits: ReadLimits = LIMITS) -> Path:
    """Build the cache of all rows unless it exists; returns its folder. Raises `DataError`."""
    return _source(data, cache, limits)[0]


def _source(
    data: Mapping[str, Any], cache: Path, limits: ReadLimits = LIMITS
) -> tuple[Path, dict[str, NDArray[Any]], dict[str, Any]]:
    """The cache folder, the arrays and the metadata of all rows."""
    folder = cache_folder(data, cache)
    arrays = get_or_build(folder, lambda to: _prepare(data, to, limits))
    return folder, arrays, json.loads(arrays["meta"].tobytes())


def _prepare(data: Mapping[str, Any], to: Path, limits: ReadLimits) -> None:
    """Raises `ChangedDataError` if the files differ from those of the sweep, before or after reading them."""
    _check_source(data)
    prepare(data, to, limits)
    _check_source(data)


def _check_source(data: Mapping[str, Any]) -> None:
    if data.get("source") not in (None, source_of(data)):
        raise ChangedDataError(
            f"{_name(data)} has changed since the sweep was accepted, and is not in the cache of this machine; "
            "submit the sweep again, or restore the files with their modification times"
        )


def _beside(folder: Path, drawn: Mapping[str, Any]) -> Path:
    return folder.with_name(f"{folder.name}-{_digest(drawn)}")


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _name(data: Mapping[str, Any]) -> str:
    return str(data.get("name") or Path(data.get("file") or data["idx"]).name)


def _write_splits(to: Path, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any], drawn: Any) -> None:
    targets = arrays["targets"]
    rows = split_rows(strata(targets), arrays["official_test"], shares=drawn["split"], seed=drawn["seed"])
    for name, part in rows.items():
        if not len(part):
            raise DataError(f"the {name} split has none of the {len(targets):,} rows; increase its fraction")
    content = [*meta["sha256"], *(hashlib.sha256(rows[name].astype("<i8").tobytes()).hexdigest() for name in SPLITS)]
    digest = hashlib.sha256("".join(content).encode()).digest()
    save_arrays(to, {**rows, **_moments(arrays, meta["image"], rows["train"])})
    save_arrays(to, {"sha256": np.frombuffer(digest, dtype=np.uint8)})


def _write_fold(arrays: Mapping[str, NDArray[Any]], whole: Dataset, drawn: Any, fold: int, to: Path) -> None:
    folds = fold_rows(strata(whole.targets), whole.rows, folds=drawn["folds"], seed=drawn["seed"])
    train, validation = folds[fold]
    if not len(validation) or not len(train):
        count = len(whole.rows["train"]) + len(whole.rows["validation"])
        raise DataError(f"{drawn['folds']} folds of {count:,} rows: a fold would be empty; lower validation.folds")
    save_arrays(to, {"train": train, "validation": validation, **_moments(arrays, whole.image, train)})


def _moments(arrays: Mapping[str, NDArray[Any]], image: Any, train: Rows) -> dict[str, NDArray[np.float64]]:
    """Mean and standard deviation of the training rows: over all pixels, or for each column of a table."""
    found = {"moments": mean_and_std(arrays["inputs"], train, by_column=tuple(image[:2]) == (1, 1))}
    if arrays["targets"].ndim == 2:
        found["target_moments"] = mean_and_std(arrays["targets"], train, by_column=True)
    return found


def _metadata(made: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    mean, std = made["moments"].tolist()
    target_mean, target_std = made["target_moments"].tolist() if "target_moments" in made else ([], [])
    return {
        "mean": _moment(mean),
        "std": _moment(std),
        "target_mean": tuple(target_mean),
        "target_std": tuple(target_std),
    }


def _moment(values: float | list[float]) -> Moment:
    return tuple(values) if isinstance(values, list) else values
