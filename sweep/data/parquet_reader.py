"""Reads Parquet files in chunks, with pyarrow (an extra); api (footer), trial processes."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.sweep.data.reader_interface import (
    LIMITS,
    SAMPLE_ROWS,
    Chunk,
    Header,
    Kind,
    ReadLimits,
    refuse_non_finite,
    rows_per_chunk,
    select_columns,
    to_inputs,
)
from podium.sweep.spec.builtin_catalog import Task
from podium.sweep.values.errors import DataError


class ParquetFile:
    """Numeric columns; the target may be strings."""

    def __init__(
        self, path: Path, target: str, features: Sequence[str] | None = None, limits: ReadLimits = LIMITS
    ) -> None:
        self.path = path
        self._limits = limits
        self._arrow, parquet = _pyarrow(path)
        try:
            with parquet.ParquetFile(path) as file:
                schema, rows = file.schema_arrow, file.metadata.num_rows
        except (self._arrow.ArrowException, OSError) as error:
            raise DataError(f"{path} is not a Parquet file, or damaged: {error}") from error
        names = select_columns(path, schema.names, target=target, features=features, limits=limits)
        counts = Counter(schema.names)
        if doubled := [name for name in (*names, target) if counts[name] > 1]:
            raise DataError(f"{path}: duplicate column {doubled[0]!r}")
        if not rows:
            raise DataError(f"{path} has no rows")
        types = [schema.field(name).type for name in names]
        for name, kind in zip(names, types, strict=True):
            self._check_input(name, kind)
        small = all(kind == self._arrow.uint8() for kind in types)
        self.header = Header(
            tuple(names), (1, 1, len(names)), np.dtype(np.uint8 if small else np.float32), target,
            self._kind(target, schema.field(target).type), rows=rows,
        )  # fmt: skip

    def chunks(self, task: Task) -> Iterator[Chunk]:
        header = self.header
        step = rows_per_chunk(8 * (header.features + 1), self._limits)
        _, parquet = _pyarrow(self.path)
        first = 0
        try:
            with parquet.ParquetFile(self.path) as file:
                for batch in file.iter_batches(step, columns=[*header.columns, header.target], use_threads=False):
                    yield self._inputs(batch, first), self._targets(batch, first)
                    first += batch.num_rows
        except (self._arrow.ArrowException, OSError) as error:
            raise DataError(f"{self.path} is truncated or damaged after row {first:,}: {error}") from error

    def first_targets(self) -> NDArray[Any]:
        _, parquet = _pyarrow(self.path)
        try:
            with parquet.ParquetFile(self.path) as file:
                first = next(file.iter_batches(SAMPLE_ROWS, columns=[self.header.target], use_threads=False))
        except (self._arrow.ArrowException, OSError) as error:
            raise DataError(f"{self.path} is truncated or damaged: {error}") from error
        return self._targets(first, 0)

    def _inputs(self, batch: Any, first: int) -> NDArray[Any]:
        header = self.header
        inputs = np.empty((batch.num_rows, header.features), header.dtype)
        for position, name in enumerate(header.columns):
            values = self._values(batch, name, first)
            inputs[:, position] = to_inputs(self.path, (name,), first_row=first, values=values, dtype=header.dtype)
        return inputs

    def _targets(self, batch: Any, first: int) -> NDArray[Any]:
        values = self._values(batch, self.header.target, first)
        refuse_non_finite(self.path, (self.header.target,), first, values)
        return values

    def _values(self, batch: Any, name: str, first: int) -> NDArray[Any]:
        column = batch.column(batch.schema.get_field_index(name))
        if column.null_count:
            row = column.is_null().to_pylist().index(True)
            raise DataError(
                f"{self.path}, row {first + row + 1:,}, column {name!r}: missing value; fill in or remove such rows"
            )
        if self._arrow.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        values = column.to_numpy(zero_copy_only=False)
        found: NDArray[Any] = values.astype(np.str_) if values.dtype.kind == "O" else values
        return found

    def _check_input(self, name: str, kind: Any) -> None:
        types = self._arrow.types
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise DataError(
                f"{self.path}: column {name!r} has unsupported type {kind}; encode it as numbers, or list the numeric "
                "columns in features",
                key="features",
            )

    def _kind(self, target: str, kind: Any) -> Kind:
        types = self._arrow.types
        if types.is_dictionary(kind):
            kind = kind.value_type
        if types.is_integer(kind) or types.is_boolean(kind):
            return "integer"
        if types.is_floating(kind):
            return "float"
        if types.is_string(kind) or types.is_large_string(kind):
            return "string"
        raise DataError(f"{self.path}: the target {target!r} has unsupported type {kind}", key="target")


def _pyarrow(path: Path) -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise DataError(f"{path}: reading Parquet needs pyarrow: pip install 'podium[parquet]'") from None
