"""A disk cache of prepared arrays, written once for each machine and memory-mapped; trial processes and host."""

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


def get_or_build(folder: Path, build: Callable[[Path], None]) -> dict[str, NDArray[Any]]:
    """The arrays in `folder`, memory-mapped, by name.

    If the folder does not exist, `build` fills a temporary one, which is then renamed. A lock makes concurrent callers
    wait for the first one.
    """
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if not folder.exists():
                _build_entry(folder, build)
    return {file.stem: np.load(file, mmap_mode="r", allow_pickle=False) for file in folder.glob("*.npy")}


def save_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write each array to a file with its name."""
    for name, array in arrays.items():
        with (folder / f"{name}.npy").open("wb") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())


def _build_entry(folder: Path, build: Callable[[Path], None]) -> None:
    for left in folder.parent.glob(f"{folder.name}.*.tmp"):  # left by a killed process, whose lock is now held here
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
    """An `.npy` file whose rows are written in any order, by several threads; the row count is set at the end."""

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
        """Set the number of rows and sync the file."""
        os.ftruncate(self._descriptor, self._offset + rows * self._row_bytes)
        os.pwrite(self._descriptor, self._header(rows), 0)
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)

    def _header(self, rows: int) -> bytes:
        """The header of numpy's format, which is padded, so that its length does not depend on the row count."""
        header = io.BytesIO()
        shape = (rows, *self._row_shape)
        descr = np.lib.format.dtype_to_descr(self.dtype)
        np.lib.format.write_array_header_1_0(header, {"descr": descr, "fortran_order": False, "shape": shape})
        return header.getvalue()
