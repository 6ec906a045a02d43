"""Prepared data on disk: arrays written once a machine, piece by piece, and mapped by all; trial and host processes."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray


def cached(folder: Path, build: Callable[[Path], None]) -> dict[str, NDArray[Any]]:
    """The arrays in `folder`, memory-mapped, by name.

    Where there is no such folder, `build` fills another one, which is renamed when it is whole. Under a lock: whoever
    comes second waits, and finds what the first has made.
    """
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if not folder.exists():
                _make(folder, build)
    return {file.stem: np.load(file, mmap_mode="r", allow_pickle=False) for file in folder.glob("*.npy")}


def save_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write whole arrays, each to a file of its name."""
    for name, array in arrays.items():
        with (folder / f"{name}.npy").open("wb") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())


def _make(folder: Path, build: Callable[[Path], None]) -> None:
    for left in folder.parent.glob(f"{folder.name}.*.tmp"):  # by a process that was killed: we hold its lock
        shutil.rmtree(left, ignore_errors=True)
    temporary = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
    try:
        temporary.mkdir()
        build(temporary)
        temporary.rename(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


class ArrayFile:
    """An `.npy` file whose rows are written in any order, by several threads; how many there are is said at the end."""

    def __init__(self, path: Path, dtype: Any, row_shape: tuple[int, ...]) -> None:
        self.dtype = np.dtype(dtype)
        self._row_shape = row_shape
        self._row_bytes = self.dtype.itemsize * int(np.prod(row_shape))
        self._offset = len(self._header(0))
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)

    def write(self, first_row: int, rows: NDArray[Any]) -> None:
        """Write rows from number `first_row` on."""
        content = np.ascontiguousarray(rows, dtype=self.dtype).reshape(-1).view(np.uint8).data
        at = self._offset + first_row * self._row_bytes
        while content:
            written = os.pwrite(self._descriptor, content, at)
            content, at = content[written:], at + written

    def finish(self, rows: int) -> None:
        """Say how many rows there are, and see that all of it is on disk."""
        os.ftruncate(self._descriptor, self._offset + rows * self._row_bytes)
        os.pwrite(self._descriptor, self._header(rows), 0)
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)

    def _header(self, rows: int) -> bytes:
        """As numpy writes it: it leaves room for the number of rows to grow, so all are of one length."""
        header = io.BytesIO()
        shape = (rows, *self._row_shape)
        descr = np.lib.format.dtype_to_descr(self.dtype)
        np.lib.format.write_array_header_1_0(header, {"descr": descr, "fortran_order": False, "shape": shape})
        return header.getvalue()
