"""Data sets, read once a machine into memory-mapped arrays that all trials share; trial, member and host processes.

The first process that asks reads the source files and writes `.npy` arrays into the cache, under a lock and whole
or not at all; the others map them, zero-copy. The api checks the files before it accepts a sweep (`check`).
"""

from __future__ import annotations

import gzip
import hashlib
import importlib
import json
import os
import shutil
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from sweep import catalog
from sweep.errors import DataError

SPLITS = ("train", "validation", "calibration", "test")

Moment: TypeAlias = float | tuple[float, ...]  # one figure for all pixels, or one for each column of a table

_IDX = {
    "x_train": "train-images-idx3-ubyte",
    "y_train": "train-labels-idx1-ubyte",
    "x_test": "t10k-images-idx3-ubyte",
    "y_test": "t10k-labels-idx1-ubyte",
}
_LABELS = {
    "fashion-mnist": (
        "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
        "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dataset:
    """All rows of a data set and which of them belong to which split.

    `inputs` is (rows, features), memory-mapped, uint8 or float32, unscaled. `targets` is (rows,) int64 in
    classification, and (rows, outputs) float32 in regression, in the units of the source.
    """

    name: str
    task: catalog.Task
    inputs: NDArray[Any]
    targets: NDArray[Any]
    image: tuple[int, int, int]  # channels, height, width; features = their product; a table is 1 x 1 x columns
    classes: tuple[str, ...]  # the name of each class, in regression of each output
    mean: Moment  # of the training split
    deviation: Moment
    target_mean: tuple[float, ...]  # of the training split, one an output; empty in classification
    target_deviation: tuple[float, ...]
    rows: Mapping[str, NDArray[np.int64]]  # split -> row numbers, ascending

    def split(self, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """The rows of one split: inputs (n, features) and targets (n,) or (n, outputs).

        They come in ascending order of their row numbers. The predictions that a trial leaves keep this order.
        """
        rows = self.rows[name]
        return self.inputs[rows], self.targets[rows]


def check(data: Mapping[str, Any]) -> None:
    """Whether the files of a data set are there and whole, from their headers. Raises `DataError` if not."""
    if data["name"] not in catalog.DATASETS:
        raise DataError(f"unknown data set {data['name']!r}")
    if data["name"] in catalog.NEEDS_ROOT:
        try:
            for part in _IDX:
                _idx_file(Path(data["root"]), part)
        except OSError as error:
            raise DataError(f"cannot read the folder {data['root']}: {error.strerror}") from error


def load(data: Mapping[str, Any], split: Mapping[str, Any], cache: Path) -> Dataset:
    """Map the data set, building the cache first if this machine has none.

    `split` holds `split` (four shares) and `seed`. Raises `DataError` when the source cannot be read, or when a share
    is too small for a single row.
    """
    source = _source_key(data)
    arrays = _cached(cache / f"{data['name']}-{source}", lambda: _read(data))
    table = data["name"] in catalog.TABLES
    rows = _cached(
        cache / f"{data['name']}-{source}-{_digest(split)}", lambda: _split_with_moments(arrays, split, table=table)
    )
    meta = json.loads(arrays["meta"].tobytes())
    mean, deviation = rows["moments"].tolist()
    target_mean, target_deviation = rows["target_moments"].tolist() if "target_moments" in rows else ([], [])
    return Dataset(
        name=data["name"],
        task=catalog.task_of(data["name"]),
        inputs=arrays["inputs"],
        targets=arrays["targets"],
        image=tuple(meta["image"]),
        classes=tuple(meta["classes"]),
        mean=_moment(mean),
        deviation=_moment(deviation),
        target_mean=tuple(target_mean),
        target_deviation=tuple(target_deviation),
        rows={name: rows[name] for name in SPLITS},
    )


def _moment(values: float | list[float]) -> Moment:
    return tuple(values) if isinstance(values, list) else values


def _cached(folder: Path, build: Any) -> dict[str, NDArray[Any]]:
    """The arrays in `folder`, memory-mapped; built once, under a lock, and renamed into place whole."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if not folder.exists():
                _write(folder, build())
    return {file.stem: np.load(file, mmap_mode="r", allow_pickle=False) for file in folder.glob("*.npy")}


def _write(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    temporary = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir()
        for name, array in arrays.items():
            np.save(temporary / f"{name}.npy", array, allow_pickle=False)
        temporary.rename(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _source_key(data: Mapping[str, Any]) -> str:
    """Changes when the source does: name, folder, and each file's size and time."""
    if data["name"] not in catalog.NEEDS_ROOT:
        return _digest({"name": data["name"]})
    files = [_idx_file(Path(data["root"]), part)[0] for part in _IDX]
    stats = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return _digest({"name": data["name"], "files": stats})


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _read(data: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    shipped = {"digits": _read_digits, "diabetes": _read_diabetes}
    return shipped[data["name"]]() if data["name"] in shipped else _read_idx(data["name"], Path(data["root"]))


def _read_digits() -> dict[str, NDArray[Any]]:
    sklearn_datasets = importlib.import_module("sklearn.datasets")  # 0.8 s, paid once a machine
    inputs, targets = sklearn_datasets.load_digits(return_X_y=True)
    meta = {"image": [1, 8, 8], "classes": [str(digit) for digit in range(10)]}
    return _arrays(inputs.astype(np.uint8), targets.astype(np.int64), np.empty(0), meta)


def _read_diabetes() -> dict[str, NDArray[Any]]:
    """Efron et al. 2004, "Least angle regression": the measure of progression runs from 25 to 346."""
    sklearn_datasets = importlib.import_module("sklearn.datasets")
    inputs, targets = sklearn_datasets.load_diabetes(return_X_y=True, scaled=False)
    meta = {"image": [1, 1, inputs.shape[1]], "classes": ["disease progression"]}
    return _arrays(inputs.astype(np.float32), targets.astype(np.float32)[:, np.newaxis], np.empty(0), meta)


def _read_idx(name: str, root: Path) -> dict[str, NDArray[Any]]:
    parts = {part: _idx_array(root, part) for part in _IDX}
    for kind in ("train", "test"):
        if len(parts[f"x_{kind}"]) != len(parts[f"y_{kind}"]):
            raise DataError(f"{root}: {kind} images and labels differ in number")
    inputs = np.concatenate([parts["x_train"], parts["x_test"]])
    targets = np.concatenate([parts["y_train"], parts["y_test"]])
    official_test = np.arange(len(parts["x_train"]), len(inputs))
    height, width = inputs.shape[1:]
    classes = list(_LABELS.get(name, map(str, range(10))))
    meta = {"image": [1, int(height), int(width)], "classes": classes}
    return _arrays(inputs.reshape(len(inputs), -1), targets.astype(np.int64), official_test, meta)


def _arrays(
    inputs: NDArray[Any], targets: NDArray[Any], official_test: NDArray[Any], meta: dict[str, Any]
) -> dict[str, NDArray[Any]]:
    return {
        "inputs": inputs,
        "targets": targets,
        "official_test": official_test.astype(np.int64),
        "meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8),
    }


def _idx_file(root: Path, part: str) -> tuple[Path, int]:
    """The IDX file of a part, plain or gzip, with its number of dimensions; its header and size are checked."""
    stem = _IDX[part]
    if not root.is_dir():
        raise DataError(f"there is no folder {root}")
    for file in (root / stem, root / f"{stem}.gz", root / stem.replace("-idx", ".idx")):
        if file.is_file():
            _check_idx_header(file)
            return file, 3 if part.startswith("x") else 1
    raise DataError(f"{root} has no file {stem} (nor {stem}.gz)")


def _check_idx_header(file: Path) -> None:
    try:
        with _open_idx(file) as stream:
            shape = _idx_shape(stream.read(16), file)
            if file.suffix != ".gz":
                expected, size = 4 + 4 * len(shape) + int(np.prod(shape)), file.stat().st_size
                if size != expected:
                    raise DataError(f"{file} is truncated or damaged: {size:,} bytes, its header says {expected:,}")
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot read {file}: {error}") from error


def _open_idx(file: Path) -> Any:
    return gzip.open(file) if file.suffix == ".gz" else file.open("rb")


def _idx_shape(header: bytes, file: Path) -> tuple[int, ...]:
    """The shape in an IDX header: 0 0 type dimensions, then one big-endian int32 a dimension."""
    if len(header) < 8 or header[:3] != b"\0\0\x08" or not 1 <= header[3] <= 3 or len(header) < 4 + 4 * header[3]:
        raise DataError(f"{file} is not an IDX file of bytes")
    return struct.unpack(f">{header[3]}I", header[4 : 4 + 4 * header[3]])


def _idx_array(root: Path, part: str) -> NDArray[np.uint8]:
    file, dimensions = _idx_file(root, part)
    try:
        with _open_idx(file) as stream:
            content = stream.read()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{file} is truncated or damaged: {error}") from error
    shape = _idx_shape(content[:16], file)
    offset = 4 + 4 * len(shape)
    if len(shape) != dimensions or len(content) - offset != int(np.prod(shape)):
        raise DataError(f"{file} is truncated or damaged: {len(content) - offset:,} bytes of data for shape {shape}")
    return np.frombuffer(content, dtype=np.uint8, offset=offset).reshape(shape)


def _split_with_moments(
    arrays: Mapping[str, NDArray[Any]], split: Mapping[str, Any], *, table: bool
) -> dict[str, NDArray[Any]]:
    inputs, targets = arrays["inputs"], arrays["targets"]
    rows = _split(_strata(targets), arrays["official_test"], split)
    for name, part in rows.items():
        if not len(part):
            raise DataError(f"the {name} split has none of the {len(targets):,} rows; give it a larger share")
    moments = {"moments": _moments(inputs[rows["train"]], by_column=table)}
    if targets.ndim == 2:
        moments["target_moments"] = _moments(targets[rows["train"]], by_column=True)
    return {**rows, **moments}


def _strata(targets: NDArray[Any]) -> NDArray[np.int64]:
    """What each split has in the same proportion: the classes; values (rows, outputs) are one stratum."""
    return targets if targets.ndim == 1 else np.zeros(len(targets), dtype=np.int64)


def _split(
    strata: NDArray[np.int64], official_test: NDArray[np.int64], split: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    """Row numbers of each split, ascending, each stratum in the same proportion, drawn by the split's own seed.

    An official test set is always the test split; the other shares are then taken of the rest.
    """
    generator = np.random.default_rng(split["seed"])
    shares = list(split["split"])
    free = np.setdiff1d(np.arange(len(strata)), official_test)
    if len(official_test):
        shares[3] = 0.0
    bounds = np.cumsum(shares)[:-1] / sum(shares)
    parts: list[list[NDArray[np.int64]]] = [[] for _ in SPLITS]
    for stratum in np.unique(strata):
        rows = generator.permutation(free[strata[free] == stratum])
        cuts = np.round(bounds * len(rows)).astype(int)
        for part, piece in zip(parts, np.split(rows, cuts), strict=True):
            part.append(piece)
    result = {name: np.sort(np.concatenate(part)) for name, part in zip(SPLITS, parts, strict=True)}
    if len(official_test):
        result["test"] = official_test
    return result


def _moments(values: NDArray[Any], *, by_column: bool) -> NDArray[np.float64]:
    """Mean and standard deviation, over all values (2,) or of each column (2, columns); no deviation is 0."""
    axis = 0 if by_column else None
    mean = values.mean(axis=axis, dtype=np.float64)
    deviation = values.std(axis=axis, dtype=np.float64)
    return np.array([mean, np.where(deviation == 0, 1.0, deviation)])
