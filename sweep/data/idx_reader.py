"""Reads folders of IDX files, the format of MNIST, plain or gzip, in chunks; api (headers), trial processes."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from podium.sweep.data.reader_interface import Chunk, Header, rows_per_chunk
from podium.sweep.spec.builtin_catalog import Task
from podium.sweep.values.errors import DataError

_STEMS = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}


class IdxPair:
    """Images and their labels: the training files of a folder, or those of its official test set."""

    def __init__(self, root: Path, kind: str) -> None:
        images, labels = (_find(root, stem) for stem in _STEMS[kind])
        self.path, self._labels = images, labels
        self._shape = _checked_shape(images, 3)
        count = _checked_shape(labels, 1)[0]
        if count != self._shape[0]:
            raise DataError(f"{root}: {self._shape[0]:,} {kind} images, but {count:,} labels")
        rows, height, width = self._shape
        self.header = Header((), (1, height, width), np.dtype(np.uint8), labels.name, "integer", rows=rows)

    def chunks(self, task: Task) -> Iterator[Chunk]:
        rows, height, width = self._shape
        size = height * width
        with _open(self.path) as images, _open(self._labels) as labels:
            _read(images, 16, self.path), _read(labels, 8, self._labels)
            for first in range(0, rows, rows_per_chunk(size)):
                count = min(rows_per_chunk(size), rows - first)
                pixels = np.frombuffer(_read(images, count * size, self.path), dtype=np.uint8)
                yield pixels.reshape(count, size), np.frombuffer(_read(labels, count, self._labels), dtype=np.uint8)
            for stream, path in ((images, self.path), (labels, self._labels)):
                if _some(stream, 1, path):
                    raise DataError(f"{path} is damaged: more data than its header states")


def open_folder(root: Path) -> list[IdxPair]:
    """The training files and the official test set. Raises `DataError` for a missing or damaged file."""
    try:
        if not root.is_dir():
            raise DataError(f"folder {root} does not exist")
        return [IdxPair(root, kind) for kind in _STEMS]
    except OSError as error:
        raise DataError(f"cannot read the folder {root}: {error.strerror}") from error


def files(root: Path) -> Sequence[Path]:
    """All four files. Raises `DataError` for a missing one."""
    return [_find(root, stem) for stems in _STEMS.values() for stem in stems]


def _find(root: Path, stem: str) -> Path:
    for file in (root / stem, root / f"{stem}.gz", root / stem.replace("-idx", ".idx")):
        if file.is_file():
            return file
    raise DataError(f"{root} has no file {stem} or {stem}.gz")


def _checked_shape(file: Path, dimensions: int) -> tuple[int, ...]:
    """The shape in the header (0 0 type dimensions, then a big-endian int32 for each); must match the file size."""
    with _open(file) as stream:
        header = _some(stream, 16, file)
    if len(header) < 8 or header[:3] != b"\0\0\x08" or not 1 <= header[3] <= 3 or len(header) < 4 + 4 * header[3]:
        raise DataError(f"{file} is not an IDX file with data type unsigned byte")
    shape = struct.unpack(f">{header[3]}I", header[4 : 4 + 4 * header[3]])
    if len(shape) != dimensions:
        raise DataError(f"{file}: expected {dimensions} dimensions, got {len(shape)}; images and labels may be swapped")
    expected, size = 4 + 4 * len(shape) + math.prod(shape), file.stat().st_size
    if file.suffix != ".gz" and size != expected:
        raise DataError(f"{file} is truncated or damaged: expected {expected:,} bytes by its header, got {size:,}")
    return shape


def _open(file: Path) -> IO[bytes]:
    return gzip.open(file) if file.suffix == ".gz" else file.open("rb")  # type: ignore[return-value]


def _read(stream: IO[bytes], wanted: int, file: Path) -> bytes:
    content = _some(stream, wanted, file)
    if len(content) != wanted:
        raise DataError(f"{file} is truncated or damaged: less data than its header states")
    return content


def _some(stream: IO[bytes], most: int, file: Path) -> bytes:
    try:
        return stream.read(most)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{file} is truncated or damaged: {error}") from error
