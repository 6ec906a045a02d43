"""The interface of data file readers: a header, then rows in chunks; api (header only), trial processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.sweep.spec import builtin_catalog
from podium.sweep.spec.builtin_catalog import Task
from podium.sweep.values.errors import DataError

SAMPLE_ROWS = 1_000  # rows from which the type of a text column is inferred

Kind = Literal["string", "integer", "float"]

# Inputs (n, features), and targets as in the file: (n,) or (n, outputs) numbers, or (n,) strings.
Chunk: TypeAlias = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits on what is read from tabular files, and on the memory that reading takes."""

    piece_bytes: int = 8 << 20  # of a chunk
    piece_strings: int = 250_000  # values of a chunk of CSV, held as strings temporarily, about 60 bytes each
    sample_strings: int = 250_000  # values of the first rows of CSV
    row_characters: int = 4 << 20  # of a row of CSV
    row_bytes: int = 64 << 20  # of a row of an array in an .npz file
    columns: int = 100_000
    classes: int = 100  # with more distinct integers in the target, the task is ambiguous


LIMITS = ReadLimits()


@dataclass(frozen=True, slots=True)
class Header:
    """The contents of a file, as far as known from its header or first rows."""

    columns: tuple[str, ...]  # of the inputs; empty if they have no names
    image: tuple[int, int, int]  # channels, height, width; a table is 1 x 1 x columns
    dtype: np.dtype[Any]  # of the inputs: uint8 or float32
    target: str
    kind: Kind  # of the target's values
    outputs: int = 1  # columns of the target
    rows: int | None = None  # None if unknown before reading

    @property
    def features(self) -> int:
        return int(np.prod(self.image))

    @property
    def is_table(self) -> bool:
        return self.image[:2] == (1, 1)

    @property
    def task(self) -> Task:
        """The task inferred from the target."""
        return "regression" if self.kind == "float" or self.outputs > 1 else "classification"


class TableFile(Protocol):
    """A file of rows. Opening it reads only the header, and raises `DataError` if that is invalid."""

    @property
    def path(self) -> Path: ...

    @property
    def header(self) -> Header: ...

    def chunks(self, task: Task) -> Iterator[Chunk]:
        """All rows in order, in chunks. Raises `DataError` with file, row and column."""
        ...


class RowsFile(TableFile, Protocol):
    """A file whose target may be for classification or regression."""

    def first_targets(self) -> NDArray[Any]:
        """The targets of the first rows, at most `SAMPLE_ROWS`."""
        ...


def select_columns(
    path: Path, available: Sequence[str], target: str, features: Sequence[str] | None, limits: ReadLimits
) -> list[str]:
    """The input columns: `features`, or all except the target. Raises `DataError` for a missing column."""
    if len(available) > limits.columns:
        raise DataError(f"{path} has {len(available):,} columns; at most {limits.columns:,} are supported", key="file")
    if target not in available:
        hint = builtin_catalog.did_you_mean(target, available[:50])
        raise DataError(f"{path} has no column {target!r}; {hint}", key="target")
    known = set(available)
    for name in features or ():
        if name not in known:
            hint = builtin_catalog.did_you_mean(name, available[:50])
            raise DataError(f"{path} has no column {name!r}; {hint}", key="features")
    if target in (features or ()):
        raise DataError(f"must not include the target {target!r}", key="features")
    names = list(features or [name for name in available if name != target])
    if not names:
        raise DataError(f"{path} has no columns except the target {target!r}", key="file")
    return names


def rows_per_chunk(row_bytes: int, limits: ReadLimits = LIMITS) -> int:
    return max(1, limits.piece_bytes // max(1, row_bytes))


def refuse_non_finite(path: Path, columns: Sequence[str], first_row: int, values: NDArray[Any]) -> None:
    """Raise `DataError` with row (from 1) and column if a number is missing or infinite."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    table = values.reshape(len(values), -1)
    row, column = np.argwhere(~np.isfinite(table))[0]
    name = columns[column] if len(columns) == table.shape[1] else columns[0] if columns else f"number {column}"
    raise DataError(
        f"{path}, row {first_row + row + 1:,}, column {name!r}: {table[row, column]} is not a finite number; "
        "fill in or remove such rows"
    )


def to_inputs(
    path: Path, columns: Sequence[str], first_row: int, values: NDArray[Any], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Numbers converted to the stored type; raises `DataError` if they are not finite."""
    with np.errstate(over="ignore"):  # overflows become infinite and are rejected below
        inputs = values.astype(dtype, copy=False)
    refuse_non_finite(path, columns, first_row, inputs)
    return inputs
