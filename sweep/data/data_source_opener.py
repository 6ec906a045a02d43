"""Opens the source of `program.data`: a built-in data set, IDX files, or tabular files; api and trial processes."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from podium.sweep.data import idx_reader
from podium.sweep.data.csv_reader import CsvFile
from podium.sweep.data.npz_reader import NpzFile
from podium.sweep.data.parquet_reader import ParquetFile
from podium.sweep.data.reader_interface import LIMITS, Chunk, Header, Kind, ReadLimits, RowsFile, TableFile
from podium.sweep.spec import builtin_catalog
from podium.sweep.spec.builtin_catalog import Task
from podium.sweep.values.errors import DataError

_READERS: Mapping[str, Any] = {".npz": NpzFile, ".csv": CsvFile, ".parquet": ParquetFile}
_KINDS_SHOWN = ".npz, .csv, .parquet"
_CLOTHES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
    "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
_DIGITS = tuple(map(str, range(10)))
_BUILT_IN_TABLES: Mapping[str, Header] = {
    "digits": Header((), (1, 8, 8), np.dtype(np.uint8), "digit", "integer", rows=1797),
    "diabetes": Header((), (1, 1, 10), np.dtype(np.float32), "disease progression", "float", rows=442),
}


@dataclass(frozen=True, slots=True)
class Source:
    """The files of a data set, whose rows are concatenated."""

    header: Header  # of all of them together
    task: Task
    files: Sequence[TableFile]
    classes: tuple[str, ...] | None = None  # if known in advance; targets are then class indices
    test_files: int = 0  # number of files, at the end, that are an official test set
    inferred: str = ""  # the reason for an inferred task

    def __str__(self) -> str:
        """A one-line description."""
        rows = "" if self.header.rows is None else f"{self.header.rows:,} rows, "
        what = (
            f"{self.header.features} columns"
            if self.header.is_table
            else "images of {1} x {2}, {0} channel{3}".format(*self.header.image, "s" * (self.header.image[0] != 1))
        )
        files = f" in {len(self.files)} files" if len(self.files) > 1 else ""
        reason = f" (inferred: {self.inferred})" if self.inferred else ""
        return f"{rows}{what}{files}, {self.task}{reason}"


def open_source(data: Mapping[str, Any], limits: ReadLimits = LIMITS) -> Source:
    """The source of `data`, with headers read and checked. Raises `DataError` with the invalid key."""
    try:
        if data.get("file") is not None:
            return _open_rows(data, table_paths(Path(data["file"])), limits)
        if data.get("idx") is not None:
            pairs = idx_reader.open_folder(Path(data["idx"]))
            return Source(_combined_header(pairs), "classification", pairs, test_files=1)
        return _open_built_in(data)
    except OSError as error:
        raise DataError(f"cannot read {error.filename}: {error.strerror}") from error


def paths(data: Mapping[str, Any]) -> Sequence[Path]:
    """The files of `data`; none if it ships with a library."""
    if data.get("file") is not None:
        return table_paths(Path(data["file"]))
    folder = data.get("idx") or (data["root"] if data["name"] in builtin_catalog.NEEDS_ROOT else None)
    return [] if folder is None else idx_reader.files(Path(folder))


def table_paths(path: Path) -> list[Path]:
    """The file, or all data files of a folder, sorted. Raises `DataError` for no files or several formats."""
    if not path.exists():
        raise DataError(f"file {path} does not exist", key="file")
    if not path.is_dir():
        if not path.is_file():
            raise DataError(f"{path} is neither a file nor a folder", key="file")
        if path.suffix not in _READERS:
            raise DataError(f"{path}: unsupported format; supported: {_KINDS_SHOWN}", key="file")
        return [path]
    found = sorted(
        file
        for file in path.iterdir()
        if file.suffix in _READERS and not file.name.startswith((".", "_")) and file.is_file()
    )
    if not found:
        raise DataError(f"folder {path} has no data files; supported formats: {_KINDS_SHOWN}", key="file")
    for file in found:
        if file.suffix != found[0].suffix:
            raise DataError(
                f"folder {path} has files of several formats: {found[0].name} and {file.name}; keep one", key="file"
            )
    return found


def _open_rows(data: Mapping[str, Any], files: Sequence[Path], limits: ReadLimits) -> Source:
    tables = [_READERS[file.suffix](file, data["target"], data.get("features"), limits) for file in files]
    header = _combined_header(tables)
    if data.get("task") is not None:
        source = Source(header, data["task"], tables)
        _refuse_impossible(source)
        return source
    return Source(header, header.task, tables, inferred=_task_reason(header, tables[0], limits))


def _refuse_impossible(source: Source) -> None:
    header, path = source.header, source.files[0].path
    if source.task == "regression" and header.kind == "string":
        raise DataError(f"{path}: the target {header.target!r} has strings; regression needs numbers", key="target")
    if source.task == "classification" and header.outputs > 1:
        raise DataError(
            f"{path}: the target {header.target!r} must have one column for classification, got {header.outputs}",
            key="target",
        )


def _task_reason(header: Header, first: RowsFile, limits: ReadLimits) -> str:
    """The reason for the inferred task. Raises `DataError` if it is ambiguous."""
    target = repr(header.target)
    if header.kind == "string":
        return f"{target} has strings"
    if header.task == "regression":
        return f"{target} has decimal numbers" if header.outputs == 1 else f"{target} has several columns"
    values = first.first_targets()
    different = len(np.unique(values))
    if different > limits.classes:
        raise DataError(
            f"{first.path}: the target {target} has {different} distinct integers in its first {len(values):,} rows; "
            "the task is ambiguous; set task: classification or task: regression",
            key="task",
        )
    return f"{target} has integers"


def _combined_header(files: Sequence[TableFile]) -> Header:
    """The combined header. Raises `DataError` for a file that does not match the first."""
    first = files[0].header
    rows: int | None = 0
    for file in files:
        header = file.header
        if header.columns != first.columns:
            different = sorted(set(header.columns) ^ set(first.columns)) or ["their order"]
            raise DataError(
                f"{file.path} and {files[0].path} differ in columns: {', '.join(different[:5])}", key="file"
            )
        if (header.image, header.outputs) != (first.image, first.outputs):
            raise DataError(
                f"{file.path} has rows of shape {list(header.image)}, but {files[0].path} has {list(first.image)}",
                key="file",
            )
        rows = None if rows is None or header.rows is None else rows + header.rows
    kinds = {file.header.kind for file in files}
    kind: Kind = "string" if "string" in kinds else "float" if "float" in kinds else "integer"
    small = all(file.header.dtype == np.uint8 for file in files)
    return replace(first, kind=kind, dtype=np.dtype(np.uint8 if small else np.float32), rows=rows)


def _open_built_in(data: Mapping[str, Any]) -> Source:
    name = str(data.get("name"))
    if name not in builtin_catalog.DATASETS:
        raise DataError(f"unknown data set {name!r}", key="name")
    if name in builtin_catalog.NEEDS_ROOT:
        pairs = idx_reader.open_folder(Path(data["root"]))
        labels = _CLOTHES if name == "fashion-mnist" else _DIGITS
        return Source(_combined_header(pairs), "classification", pairs, classes=labels, test_files=1)
    header = _BUILT_IN_TABLES[name]
    classes = _DIGITS if name == "digits" else None
    return Source(header, builtin_catalog.task_of(name), [_BuiltInTable(name, header)], classes=classes)


@dataclass(frozen=True, slots=True)
class _BuiltInTable:
    """A data set that ships with scikit-learn; diabetes is from Efron et al. 2004, "Least angle regression"."""

    name: str
    header: Header

    @property
    def path(self) -> Path:
        return Path(self.name)

    def chunks(self, task: Task) -> Iterator[Chunk]:
        sklearn_datasets = importlib.import_module("sklearn.datasets")  # takes 0.8 s, once for each machine
        load = sklearn_datasets.load_digits if self.name == "digits" else sklearn_datasets.load_diabetes
        options = {} if self.name == "digits" else {"scaled": False}
        inputs, targets = load(return_X_y=True, **options)
        yield inputs.astype(self.header.dtype), targets
