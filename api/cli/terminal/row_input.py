"""Reads rows of numbers from a file or standard input, as .npy or JSON; CLI."""

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


def read(path: Path, *, strings: bool = False) -> NDArray[Any]:
    """The array in `path`, or in standard input for `-`: .npy, JSON rows, or `{"inputs": rows}`.

    Raises `DataError` unless it is an array of numbers, or of strings if `strings` are accepted.
    """
    content = _content(path)
    try:
        array = _npy(content) if content.startswith(NPY) else _json(content)
    except ValueError as error:
        message = f"{_name(path)} is neither .npy nor JSON rows of numbers of equal length: {error}"
        raise DataError(message) from error
    if array.dtype.kind not in ("fiuU" if strings else "fiu"):
        raise DataError(f"{_name(path)}: expected rows of numbers, not {array.dtype}")
    return array


def _content(path: Path) -> bytes:
    if path == STDIN:
        if sys.stdin.isatty():
            raise DataError("standard input is a terminal; pipe rows into it, or give a file with --input")
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
