"""Reads CSV files: a header, then numbers; the target may be text. A piece at a time; api (its beginning), trial."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from sweep.catalog import Task
from sweep.errors import DataError
from sweep.reading import LOOKED_AT, Header, Kind, Piece, chosen

_DELIMITERS = ",;\t"
_LINE = 16 << 20  # characters
_PIECE_VALUES = 250_000  # held as texts for a moment, some 60 bytes each

_Lines = tuple[list[list[str]], list[int]]  # rows of texts, and the line in which each ends


class CsvFile:
    """UTF-8, a line of names, then a line for each row; separated by commas, or by semicolons or tabs."""

    def __init__(self, path: Path, target: str, features: Sequence[str] | None = None) -> None:
        self.path = path
        rows = self._lines(1)
        names = next(rows)[0][0] if path.stat().st_size else []
        self._names = self._checked(names)
        columns = chosen(path, self._names, target, features)
        self._at = [self._names.index(column) for column in columns]
        self._target_at = self._names.index(target)
        self._target = target
        sample = next(self._lines(LOOKED_AT, skip=1), None)
        if sample is None:
            raise DataError(f"{path} has a header and no rows")
        self._inputs(sample)
        texts = self._texts(sample)
        self.header = Header(tuple(columns), (1, 1, len(columns)), np.dtype(np.float32), target, _kind(texts))

    def pieces(self, task: Task) -> Iterator[Piece]:
        for lines in self._lines(max(1, _PIECE_VALUES // len(self._names)), skip=1):
            if task == "classification":
                yield self._inputs(lines), np.array(self._texts(lines))
            else:
                yield self._inputs(lines), self._numbers(lines, [self._target_at])[:, 0]

    def _lines(self, step: int, skip: int = 0) -> Iterator[_Lines]:
        """Rows, `step` at a time; blank lines are passed over."""
        last = 0
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as stream:
                delimiter = self._delimiter(next(self._texts_of(stream), ""))
                stream.seek(0)
                reader = csv.reader(self._texts_of(stream), delimiter=delimiter, strict=True)
                numbered = ((row, reader.line_num) for row in reader if row)
                for _ in range(skip):
                    next(numbered, None)
                while some := list(islice(numbered, step)):
                    last = some[-1][1]
                    yield [row for row, _ in some], [line for _, line in some]
        except UnicodeDecodeError as error:
            raise DataError(f"{self.path} is not UTF-8, after line {last:,}: {error.reason}") from error
        except csv.Error as error:
            raise DataError(f"{self.path}, after line {last:,}: {error}") from error

    def _texts_of(self, stream: TextIO) -> Iterator[str]:
        while line := stream.readline(_LINE):
            if len(line) == _LINE:
                raise DataError(f"{self.path} has a line of more than {_LINE >> 20} MB; it is no CSV file")
            yield line

    def _delimiter(self, line: str) -> str:
        return max(_DELIMITERS, key=line.count)

    def _checked(self, names: list[str]) -> list[str]:
        names = [name.strip() for name in names]
        if not names:
            raise DataError(f"{self.path} is empty; its first line has to name the columns")
        if all(_is_number(name) for name in names):
            raise DataError(f"{self.path} has no header: its first line is numbers, and has to name the columns")
        for name in names:
            if not name:
                raise DataError(f"{self.path}: column {names.index(name) + 1} has no name in the first line")
            if names.count(name) > 1:
                raise DataError(f"{self.path}: two columns are called {name!r}")
        return names

    def _inputs(self, lines: _Lines) -> NDArray[np.float32]:
        return self._numbers(lines, self._at)

    def _numbers(self, lines: _Lines, at: list[int]) -> NDArray[np.float32]:
        """The numbers in some columns. Raises `DataError`, naming line and column."""
        self._check_widths(lines)
        rows, _ = lines
        pick = itemgetter(*at)
        texts = chain.from_iterable(map(pick, rows)) if len(at) > 1 else map(pick, rows)
        try:
            with np.errstate(over="ignore"):
                found = np.fromiter(map(float, texts), np.float64, len(rows) * len(at)).astype(np.float32)
        except ValueError:
            raise self._culprit(lines, at) from None
        if not np.isfinite(found).all():
            raise self._culprit(lines, at)
        return found.reshape(len(rows), len(at))

    def _texts(self, lines: _Lines) -> list[str]:
        self._check_widths(lines)
        texts = [row[self._target_at].strip() for row in lines[0]]
        if "" in texts:
            line = lines[1][texts.index("")]
            raise DataError(f"{self.path}, line {line:,}: the target {self._target!r} is missing; leave such rows out")
        return texts

    def _check_widths(self, lines: _Lines) -> None:
        width = len(self._names)
        for row, line in zip(*lines, strict=True):
            if len(row) != width:
                raise DataError(f"{self.path}, line {line:,}: {len(row)} values, and the header names {width} columns")

    def _culprit(self, lines: _Lines, at: list[int]) -> DataError:
        """What is wrong with the first value that is no number."""
        limit = float(np.finfo(np.float32).max)
        for row, line in zip(*lines, strict=True):
            for position in at:
                text, name = row[position].strip(), self._names[position]
                where = f"{self.path}, line {line:,}, column {name!r}"
                if not text:
                    return DataError(f"{where}: the value is missing; fill it in, or leave such rows out")
                if not _is_number(text):
                    return DataError(f"{where}: {text[:40]!r} is not a number; {self._advice(position, text)}")
                if not abs(float(text)) <= limit:
                    return DataError(f"{where}: {text[:40]!r} is no number that a network takes")
        raise AssertionError("every value is a number")

    def _advice(self, position: int, text: str) -> str:
        if _is_number(text.replace(",", ".", 1)):
            return "write a decimal point"
        if position == self._target_at:
            return "values are numbers; for classes write task: classification"
        return "turn text into numbers first, or name the columns to learn from in features"


def _kind(texts: list[str]) -> Kind:
    if not all(map(_is_number, texts)):
        return "text"
    return "whole" if all(text.lstrip("+-").isdecimal() for text in texts) else "number"


def _is_number(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False
