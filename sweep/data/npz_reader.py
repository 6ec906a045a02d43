"""Reads `.npz` files in chunks, without pickle; api (headers), trial processes."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

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

_BY_COLUMNS_BYTES = 256 << 20  # of an array in Fortran order, which cannot be read by rows
_KINDS: dict[str, Kind] = {"b": "integer", "i": "integer", "u": "integer", "f": "float", "U": "string"}
_DAMAGE = (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError)


@dataclass(frozen=True, slots=True)
class _Member:
    """The header of one array in the file."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool

    @property
    def rows(self) -> int:
        return self.shape[0]

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape[1:])


class NpzFile:
    """The inputs are one array (rows, ...) or several that are concatenated by column; the target is another."""

    def __init__(
        self, path: Path, target: str, features: Sequence[str] | None = None, limits: ReadLimits = LIMITS
    ) -> None:
        self.path = path
        self._limits = limits
        members = self._members()
        names = select_columns(path, list(members), target=target, features=features, limits=limits)
        self._target = members[target]
        self._inputs = [members[name] for name in names]
        if features is None and len(names) > 1:
            self._inputs = self._as_long_as_target(names, members)
        self.header = self._checked_header()

    def chunks(self, task: Task) -> Iterator[Chunk]:
        header = self.header
        step = rows_per_chunk(sum(member.row_bytes for member in (*self._inputs, self._target)), self._limits)
        try:
            with zipfile.ZipFile(self.path) as archive, ExitStack() as stack:
                readers = [_Rows(stack.enter_context(archive.open(_file(m.name))), m) for m in self._inputs]
                targets = _Rows(stack.enter_context(archive.open(_file(self._target.name))), self._target)
                for first in range(0, self._target.rows, step):
                    count = min(step, self._target.rows - first)
                    parts = [reader.next(count).reshape(count, -1) for reader in readers]
                    values = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
                    names = header.columns or (self._inputs[0].name,)
                    inputs = to_inputs(self.path, names, first_row=first, values=values, dtype=header.dtype)
                    said = targets.next(count)
                    refuse_non_finite(self.path, (header.target,), first, said)
                    yield inputs, said
        except DataError:
            raise
        except _DAMAGE as error:
            raise DataError(f"{self.path} is truncated or damaged: {error}") from error

    def first_targets(self) -> NDArray[Any]:
        member = self._target
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(_file(member.name)) as stream:
                return _Rows(stream, member).next(min(SAMPLE_ROWS, member.rows))
        except _DAMAGE as error:
            raise DataError(f"{self.path} is truncated or damaged: {error}") from error

    def _members(self) -> dict[str, _Member]:
        try:
            with zipfile.ZipFile(self.path) as archive:
                infos = [info for info in archive.infolist() if info.filename.endswith(".npy")]
                return {info.filename[:-4]: self._member(archive, info) for info in infos}
        except DataError:
            raise
        except _DAMAGE as error:
            raise DataError(f"{self.path} is not an .npz file, or damaged: {error}") from error

    def _member(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Member:
        name = info.filename[:-4]
        with archive.open(info) as stream:
            shape, fortran, dtype = _array_header(stream)
            header_bytes = stream.tell()
        member = _Member(name, shape, dtype, fortran and len(shape) > 1)
        if not dtype.hasobject and info.file_size - header_bytes != dtype.itemsize * math.prod(shape):
            raise DataError(
                f"{self.path} is truncated or damaged: the length of array {name!r} differs from its header"
            )
        return member

    def _as_long_as_target(self, names: Sequence[str], members: dict[str, _Member]) -> list[_Member]:
        """The only array with a row for each target; other arrays are ignored."""
        fitting = [members[n] for n in names if members[n].shape[:1] == self._target.shape[:1]]
        if len(fitting) == 1:
            return fitting
        known = ", ".join(names)
        raise DataError(f"{self.path} has several arrays ({known}); list the inputs in features", key="file")

    def _checked_header(self) -> Header:
        for member in (self._target, *self._inputs):
            self._check(member)
        target, (first, *others) = self._target, self._inputs
        if len(target.shape) > 2 or (target.dtype.kind != "f" and len(target.shape) > 1):
            raise DataError(
                f"{self.path}: target {target.name!r} must have one value for each row, got shape {list(target.shape)}",
                key="target",
            )
        if others and any(len(member.shape) > 2 for member in self._inputs):
            raise DataError(f"{self.path}: arrays of images cannot be combined; list one array", key="features")
        if not others and len(first.shape) > 4:
            raise DataError(
                f"{self.path}: {first.name!r} has {len(first.shape)} dimensions; at most 4 are supported", key="file"
            )
        small = all(member.dtype == np.uint8 for member in self._inputs)
        image, columns = _shape_of_row(self._inputs)
        return Header(
            columns, image, np.dtype(np.uint8 if small else np.float32), target.name, _KINDS[target.dtype.kind],
            outputs=1 if len(target.shape) == 1 else target.shape[1], rows=target.rows,
        )  # fmt: skip

    def _check(self, member: _Member) -> None:
        is_target = member is self._target
        key = "target" if is_target else "features"
        if member.dtype.hasobject:
            raise DataError(
                f"{self.path}: array {member.name!r} has dtype object; save numbers, or strings with dtype str",
                key=key,
            )
        if member.dtype.kind not in ("biufU" if is_target else "biuf"):
            raise DataError(f"{self.path}: array {member.name!r} has unsupported dtype {member.dtype}", key=key)
        if not member.shape or not member.rows:
            raise DataError(f"{self.path}: array {member.name!r} has no rows", key=key)
        if 0 in member.shape:
            raise DataError(f"{self.path}: array {member.name!r} has no values: shape {list(member.shape)}", key=key)
        if member.rows != self._target.rows:
            raise DataError(
                f"{self.path}: array {member.name!r} has {member.rows:,} rows, but the target {self._target.name!r} "
                f"has {self._target.rows:,}",
                key=key,
            )
        if member.row_bytes > self._limits.row_bytes:
            raise DataError(
                f"{self.path}: a row of array {member.name!r} takes {member.row_bytes:,} bytes, more than "
                f"{self._limits.row_bytes >> 20} MB",
                key=key,
            )
        if member.fortran and member.rows * member.row_bytes > _BY_COLUMNS_BYTES:
            raise DataError(
                f"{self.path}: array {member.name!r} has Fortran order; save np.ascontiguousarray of it", key=key
            )


class _Rows:
    """The rows of one array, in order."""

    def __init__(self, stream: IO[bytes], member: _Member) -> None:
        _array_header(stream)
        self._stream = stream
        self._member = member
        self._whole = self._read_whole() if member.fortran else None
        self._at = 0

    def next(self, count: int) -> NDArray[Any]:
        first, self._at = self._at, self._at + count
        if self._whole is not None:
            return self._whole[first : self._at]
        return self._read((count, *self._member.shape[1:]), count * self._member.row_bytes)

    def _read_whole(self) -> NDArray[Any]:
        member = self._member
        return self._read(member.shape[::-1], member.rows * member.row_bytes).transpose()

    def _read(self, shape: tuple[int, ...], wanted: int) -> NDArray[Any]:
        content = self._stream.read(wanted)
        if len(content) != wanted:
            raise EOFError(f"array {self._member.name!r} ends early")
        return np.frombuffer(content, dtype=self._member.dtype).reshape(shape)


def _file(name: str) -> str:
    return f"{name}.npy"


def _array_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(stream)
    return tuple(shape), bool(fortran), np.dtype(dtype)


def _shape_of_row(inputs: Sequence[_Member]) -> tuple[tuple[int, int, int], tuple[str, ...]]:
    """Channels, height and width of a row, and the names of its columns, if each has one."""
    first, *others = inputs
    if not others and len(first.shape) >= 3:
        channels, height, width = (1, *first.shape[1:]) if len(first.shape) == 3 else first.shape[1:]
        return (channels, height, width), ()
    widths = [1 if len(member.shape) == 1 else member.shape[1] for member in inputs]
    names = tuple(member.name for member in inputs) if set(widths) == {1} else ()
    return (1, 1, sum(widths)), names
