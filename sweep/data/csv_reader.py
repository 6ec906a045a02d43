"""Reads CSV files in chunks: a header, then numbers; the target may be strings. api (first rows), trial processes."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from podium.sweep.data.reader_interface import LIMITS, SAMPLE_ROWS, Chunk, Header, Kind, ReadLimits, select_columns
from podium.sweep.spec.builtin_catalog import Task
from podium.sweep.values.errors import DataError

_DELIMITERS = ",;\t"
_EXACT = 400  # digits: longer integers are not class labels

_Lines = tuple[list[list[str]], list[int]]  # rows of strings, and the line in which each ends


class CsvFile:
    """A UTF-8 file with a header line and a line for each row; separated by commas, semicolons or tabs."""

    def __init__(
        self, path: Path, target: str, features: Sequence[str] | None = None, limits: ReadLimits = LIMITS
    ) -> None:
        self.path = path
        self._limits = limits
        self._names: list[str] = []
        header, _ = next(self._lines(1), ([[]], []))
        self._names = self._check_names(header[0])
        columns = select_columns(path, self._names, target=target, features=features, limits=limits)
        places = {name: place for place, name in enumerate(self._names)}
        self._at = [places[column] for column in columns]
        self._target_at = places[target]
        self._target = target
        rows = min(SAMPLE_ROWS, max(1, limits.sample_strings // len(self._names)))
        sample = next(self._lines(rows, skip=1), None)
        if sample is None:
            raise DataError(f"{path} has a header but no rows")
        self._inputs(sample)
        self._sample = self._texts(sample)
        kind = _kind(self._sample)
        self.header = Header(tuple(columns), (1, 1, len(columns)), np.dtype(np.float32), target, kind)

    def first_targets(self) -> NDArray[Any]:
        return np.array(self._labels(self._sample))

    def chunks(self, task: Task) -> Iterator[Chunk]:
        for lines in self._lines(max(1, self._limits.piece_strings // len(self._names)), skip=1):
            if task == "classification":
                yield self._inputs(lines), np.array(self._labels(self._texts(lines), lines[1]))
            else:
                yield self._inputs(lines), self._numbers(lines, [self._target_at])[:, 0]

    def _lines(self, step: int, skip: int = 0) -> Iterator[_Lines]:
        """Rows, `step` at a time; blank lines are skipped."""
        last = 0
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as stream:
                delimiter = self._delimiter(next(self._characters(stream), ""))
                stream.seek(0)
                numbered = self._numbered(self._characters(stream), delimiter)
                for _ in range(skip):
                    next(numbered, None)
                while some := list(islice(numbered, step)):
                    last = some[-1][1]
                    yield [row for row, _ in some], [line for _, line in some]
        except UnicodeDecodeError as error:
            raise DataError(f"{self.path}: invalid UTF-8 after line {last:,}: {error.reason}") from error
        except csv.Error as error:
            raise DataError(f"{self.path}, after line {last:,}: {error}") from error

    def _characters(self, stream: TextIO) -> _Characters:
        return _Characters(self.path, stream, self._limits.row_characters)

    def _numbered(self, characters: _Characters, delimiter: str) -> Iterator[tuple[list[str], int]]:
        """Each row with the line in which it ends; raises unless its width is that of the header, once known."""
        reader, width = csv.reader(characters, delimiter=delimiter, strict=True), len(self._names)
        for row in reader:
            characters.of_row = 0
            if row and width and len(row) != width:
                raise DataError(
                    f"{self.path}, line {reader.line_num:,}: expected {width} values, as in the header, got {len(row)}"
                )
            if row:
                yield row, reader.line_num

    def _delimiter(self, line: str) -> str:
        return max(_DELIMITERS, key=line.count)

    def _check_names(self, names: list[str]) -> list[str]:
        names = [name.strip() for name in names]
        if not names:
            raise DataError(f"{self.path} is empty; the first line must be a header with column names")
        if all(_is_number(name) for name in names):
            raise DataError(f"{self.path} has no header; the first line must have column names, not numbers")
        seen: set[str] = set()
        for column, name in enumerate(names, 1):
            if not name:
                raise DataError(f"{self.path}: column {column} has no name in the header")
            if name in seen:
                raise DataError(f"{self.path}: duplicate column {name!r}")
            seen.add(name)
        return names

    def _inputs(self, lines: _Lines) -> NDArray[np.float32]:
        return self._numbers(lines, self._at)

    def _numbers(self, lines: _Lines, at: list[int]) -> NDArray[np.float32]:
        """The numbers in some columns. Raises `DataError` with line and column."""
        rows, _ = lines
        pick = itemgetter(*at)
        texts = chain.from_iterable(map(pick, rows)) if len(at) > 1 else map(pick, rows)
        try:
            with np.errstate(over="ignore"):
                found = np.fromiter(map(float, texts), np.float64, len(rows) * len(at)).astype(np.float32)
        except ValueError:
            raise self._first_problem(lines, at) from None
        if not np.isfinite(found).all():
            raise self._first_problem(lines, at)
        return found.reshape(len(rows), len(at))

    def _texts(self, lines: _Lines) -> list[str]:
        texts = [row[self._target_at].strip() for row in lines[0]]
        if "" in texts:
            line = lines[1][texts.index("")]
            raise DataError(
                f"{self.path}, line {line:,}: missing value of the target {self._target!r}; remove such rows"
            )
        return texts

    def _labels(self, texts: list[str], lines: Sequence[int] = ()) -> list[str]:
        """Class labels; if the first rows are numbers, 1, 01 and 1.0 are the same. Raises `DataError` for 1.5."""
        return (
            texts if self.header.kind == "string" else [self._label(text, at, lines) for at, text in enumerate(texts)]
        )

    def _label(self, text: str, at: int, lines: Sequence[int]) -> str:
        if not _is_number(text):
            return text
        if len(text) <= _EXACT and _is_whole(text):
            return str(int(text))
        if len(text) <= _EXACT and (value := float(text)).is_integer():
            return str(int(value))
        where = f"{self.path}, line {lines[at]:,}" if lines else str(self.path)
        raise DataError(
            f"{where}: the target {self._target!r} has {text[:40]}; class labels must be integers or strings; "
            "for regression set task: regression",
            key="task",
        )

    def _first_problem(self, lines: _Lines, at: list[int]) -> DataError:
        """The error for the first value that is not a finite float32."""
        limit = float(np.finfo(np.float32).max)
        for row, line in zip(*lines, strict=True):
            for position in at:
                text, name = row[position].strip(), self._names[position]
                where = f"{self.path}, line {line:,}, column {name!r}"
                if not text:
                    return DataError(f"{where}: missing value; fill in or remove such rows")
                if not _is_number(text):
                    return DataError(f"{where}: {text[:40]!r} is not a number; {self._advice(position, text)}")
                if not abs(float(text)) <= limit:
                    return DataError(f"{where}: {text[:40]!r} is not a finite float32")
        raise AssertionError("every value is a number")

    def _advice(self, position: int, text: str) -> str:
        if _is_number(text.replace(",", ".", 1)):
            return "use a decimal point"
        if position == self._target_at:
            return "for classification set task: classification"
        return "encode strings as numbers, or list the numeric columns in features"


def _kind(texts: list[str]) -> Kind:
    if not all(map(_is_number, texts)):
        return "string"
    return "integer" if all(map(_is_whole, texts)) else "float"


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").removeprefix("+").isdecimal()


def _is_number(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


class _Characters:
    """The lines of a file for the csv module, which joins quoted ones; raises for an unbounded row."""

    def __init__(self, path: Path, stream: TextIO, longest_row: int) -> None:
        self._path = path
        self._stream = stream
        self._longest_row = longest_row
        self.of_row = 0

    def __iter__(self) -> _Characters:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(self._longest_row)
        self.of_row += len(line)
        if self.of_row >= self._longest_row:
            raise DataError(f"{self._path} is not a CSV file: a row exceeds {self._longest_row >> 20} MB")
        if not line:
            raise StopIteration
        return line
