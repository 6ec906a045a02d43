"""Rows of numbers from a file or standard input, numpy's format or JSON; cli."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.sweep.values.errors import DataError

NPY = b"\x93NUMPY"
STDIN = Path("-")


def read(path: Path, *, words: bool = False) -> NDArray[Any]:
    """The array in `path`, or on standard input for `-`: .npy, or JSON rows, or `{"inputs": rows}`.

    Raises `DataError` when that is no array of numbers, or, where `words` are as good, of words.
    """
    content = _content(path)
    try:
        array = _npy(content) if content.startswith(NPY) else _json(content)
    except ValueError as error:
        message = f"{_name(path)}: neither .npy nor JSON rows of numbers, all of the same length: {error}"
        raise DataError(message) from error
    if array.dtype.kind not in ("fiuU" if words else "fiu"):
        raise DataError(f"{_name(path)}: rows of numbers are wanted, not {array.dtype}")
    return array


def _content(path: Path) -> bytes:
    if path == STDIN:
        if sys.stdin.isatty():
            raise DataError("standard input is the keyboard; pipe rows into it, or name a file")
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from error


def _npy(content: bytes) -> NDArray[Any]:
    return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))


def _json(content: bytes) -> NDArray[Any]:
    rows = json.loads(content)
    if isinstance(rows, dict):
        rows = rows.get("inputs", rows.get("targets"))
    return np.asarray(rows)


def _name(path: Path) -> str:
    return "standard input" if path == STDIN else str(path)
