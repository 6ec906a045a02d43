"""What a reader of data files gives: what a file holds, then its rows in pieces; api (only what it holds), trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.sweep.spec import catalog
from podium.sweep.spec.catalog import Task
from podium.sweep.values.errors import DataError

PIECE_BYTES = 8 << 20
LOOKED_AT = 1_000  # rows from which is said what a column of text holds
MAX_COLUMNS = 100_000

Kind = Literal["text", "whole", "number"]

# Inputs (n, features), and targets as they stand in the file: (n,) or (n, outputs) numbers, or (n,) texts.
Piece: TypeAlias = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Header:
    """What a file holds, as far as its beginning tells."""

    columns: tuple[str, ...]  # of the inputs; none where they have no names
    image: tuple[int, int, int]  # channels, height, width; a table is 1 x 1 x columns
    dtype: np.dtype[Any]  # of the inputs: uint8 or float32
    target: str
    kind: Kind  # of the target's values
    outputs: int = 1  # columns of the target
    rows: int | None = None  # None where only reading tells

    @property
    def features(self) -> int:
        return int(np.prod(self.image))

    @property
    def is_table(self) -> bool:
        return self.image[:2] == (1, 1)

    @property
    def task(self) -> Task:
        """What its target seems to be for."""
        return "regression" if self.kind == "number" or self.outputs > 1 else "classification"


class TableFile(Protocol):
    """One file of rows. Opening it reads no more than its header, and raises `DataError` where that is wrong."""

    @property
    def path(self) -> Path: ...

    @property
    def header(self) -> Header: ...

    def pieces(self, task: Task) -> Iterator[Piece]:
        """All rows in order, some at a time. Raises `DataError`, naming the file, the row and the column."""
        ...


class RowsFile(TableFile, Protocol):
    """One whose target may be for classes or for values."""

    def first_targets(self) -> NDArray[Any]:
        """The targets of the first rows, `LOOKED_AT` at most, without their inputs."""
        ...


def chosen(path: Path, there: Sequence[str], target: str, features: Sequence[str] | None) -> list[str]:
    """The columns to learn from: those named, or all but the target. Raises `DataError` for one that is not there."""
    if len(there) > MAX_COLUMNS:
        raise DataError(f"{path} has {len(there):,} columns; {MAX_COLUMNS:,} are the most", key="file")
    if target not in there:
        hint = catalog.suggestion(target, there[:50])
        raise DataError(f"{path} has no column {target!r}; {hint}", key="target")
    known = set(there)
    for name in features or ():
        if name not in known:
            hint = catalog.suggestion(name, there[:50])
            raise DataError(f"{path} has no column {name!r}; {hint}", key="features")
    if target in (features or ()):
        raise DataError(f"{target!r} is the target; a network that sees it has nothing to learn", key="features")
    names = list(features or [name for name in there if name != target])
    if not names:
        raise DataError(f"{path} has no column beside the target {target!r}", key="file")
    return names


def rows_a_piece(row_bytes: int) -> int:
    return max(1, PIECE_BYTES // max(1, row_bytes))


def refuse_non_finite(path: Path, columns: Sequence[str], first_row: int, values: NDArray[Any]) -> None:
    """Raise `DataError`, naming the row (from 1) and the column, where a number is missing or infinite."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    table = values.reshape(len(values), -1)
    row, column = np.argwhere(~np.isfinite(table))[0]
    name = columns[column] if len(columns) == table.shape[1] else columns[0] if columns else f"number {column}"
    raise DataError(
        f"{path}, row {first_row + row + 1:,}, column {name!r}: {table[row, column]} is no number that a network "
        "takes; fill in or leave out such rows"
    )


def as_inputs(
    path: Path, columns: Sequence[str], first_row: int, values: NDArray[Any], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Numbers as they are kept, finite; raises `DataError` where they are not."""
    with np.errstate(over="ignore"):  # what is too large becomes an infinity, and is refused
        inputs = values.astype(dtype, copy=False)
    refuse_non_finite(path, columns, first_row, inputs)
    return inputs
