"""Converts the files of a data set to arrays in the cache, in chunks and in parallel; trial processes and host."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.sweep.data.class_labels import LabelEncoder
from podium.sweep.data.data_cache import ArrayFile, save_arrays
from podium.sweep.data.data_source_opener import Source, open_source
from podium.sweep.data.reader_interface import LIMITS, ReadLimits, TableFile
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.runtime.service_settings import available_cores
from podium.sweep.values.errors import DataError

READERS = 4
_CHUNK_ROWS = 1 << 20


def prepare(data: Mapping[str, Any], folder: Path, limits: ReadLimits = LIMITS) -> None:
    """Read all that `data` names into `inputs.npy` and `targets.npy`, with `meta.npy` and `official_test.npy`."""
    source = open_source(data, limits)
    target = _TargetFile(source, folder / "targets.npy")
    inputs = ArrayFile(folder / "inputs.npy", source.header.dtype, (source.header.features,))
    try:
        counts = _Writer(source, inputs, target).write_all()
        inputs.finish(sum(counts))
        classes = target.finish(sum(counts))
    finally:
        inputs.close()
        target.close()
    test_rows = sum(counts[len(counts) - source.test_files :])
    save_arrays(folder, {"official_test": np.arange(sum(counts) - test_rows, sum(counts), dtype=np.int64)})
    meta = {
        "task": source.task,
        "image": source.header.image,
        "columns": source.header.columns,
        "classes": classes,
        "sha256": [sha256_of(folder / "inputs.npy"), sha256_of(folder / "targets.npy")],
    }
    save_arrays(folder, {"meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)})


class _Writer:
    """Writes the rows of all files in order.

    If the row counts of all files are known, several threads read files concurrently. CSV files, whose row counts are
    unknown before reading, are read one after the other.
    """

    def __init__(self, source: Source, inputs: ArrayFile, target: _TargetFile) -> None:
        self._source = source
        self._inputs = inputs
        self._target = target
        self._failed = threading.Event()

    def write_all(self) -> list[int]:
        """Write all files; returns the number of rows of each."""
        files = self._source.files
        known = [file.header.rows for file in files]
        if None in known:
            counts: list[int] = []
            for file in files:
                counts.append(self._write(file, sum(counts)))
            return counts
        starts = accumulate((count or 0 for count in known), initial=0)
        with ThreadPoolExecutor(max(1, min(READERS, available_cores(), len(files)))) as readers:
            return list(readers.map(self._write, files, starts))

    def _write(self, file: TableFile, start: int) -> int:
        at = start
        try:
            for inputs, targets in file.chunks(self._source.task):
                if self._failed.is_set():
                    break
                self._inputs.write(at, inputs)
                self._target.write(at, targets, file.path)
                at += len(inputs)
        except BaseException:
            self._failed.set()
            raise
        return at - start


class _TargetFile:
    """The stored targets: class indices (rows,) int64, or values (rows, outputs) float32."""

    def __init__(self, source: Source, path: Path) -> None:
        self._source = source
        self._path = path
        self._labels = LabelEncoder()
        values = source.task == "regression"
        self._array = ArrayFile(path, np.float32 if values else np.int64, (source.header.outputs,) if values else ())

    def write(self, first_row: int, targets: NDArray[Any], path: Path) -> None:
        known = self._source.classes
        where = f"{path}: the target {self._source.header.target!r}"
        if self._source.task == "regression":
            self._array.write(first_row, _values(targets, where))
        elif known is None:
            self._array.write(first_row, self._labels.encode(targets, where))
        elif int(targets.max(initial=0)) >= len(known):
            raise DataError(f"{path.parent} has labels above {len(known) - 1}; use idx instead of name and root")
        else:
            self._array.write(first_row, targets)

    def finish(self, rows: int) -> tuple[str, ...]:
        """The name of each class; in regression, of each output."""
        self._array.finish(rows)
        if self._source.task == "regression":
            name, outputs = self._source.header.target, self._source.header.outputs
            return (name,) if outputs == 1 else tuple(f"{name}[{output}]" for output in range(outputs))
        if self._source.classes is not None:
            return self._source.classes
        names, places = self._labels.sorted_classes()
        if len(names) < 2:
            raise DataError(f"the target {self._source.header.target!r} has only one class: {names[0]!r}", key="target")
        if not np.array_equal(places, np.arange(len(places))):
            self._put_in_order(places)
        return names

    def close(self) -> None:
        self._array.close()

    def _put_in_order(self, places: NDArray[np.int64]) -> None:
        codes = np.load(self._path, mmap_mode="r+")
        for start in range(0, len(codes), _CHUNK_ROWS):
            codes[start : start + _CHUNK_ROWS] = places[codes[start : start + _CHUNK_ROWS]]
        codes.flush()


def _values(targets: NDArray[Any], where: str) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        values = targets.astype(np.float32).reshape(len(targets), -1)
    if not np.isfinite(values).all():
        raise DataError(f"{where} has a value that overflows float32")
    return values
