"""Data sets: valid files load, damaged ones are rejected by name, tables keep their units, and splits agree."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from podium.sweep.data import memory_mapped_datasets
from podium.sweep.data.mean_and_std import mean_and_std
from podium.sweep.data.splits import fold_rows, split_rows
from podium.sweep.values.errors import DataError

SPLIT = {"split": [0.7, 0.1, 0.1, 0.1], "seed": 0}
TRAIN, TEST, SIDE, CLASSES = 200, 50, 4, 10
X_TRAIN, Y_TRAIN = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
X_TEST, Y_TEST = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


def idx(array: NDArray[np.uint8]) -> bytes:
    """The bytes of an IDX file."""
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def _contents() -> dict[str, bytes]:
    generator = np.random.default_rng(7)
    contents: dict[str, bytes] = {}
    for images, labels, rows in ((X_TRAIN, Y_TRAIN, TRAIN), (X_TEST, Y_TEST, TEST)):
        contents[images] = idx(generator.integers(0, 256, (rows, SIDE, SIDE), dtype=np.uint8))
        contents[labels] = idx((np.arange(rows) % CLASSES).astype(np.uint8))
    return contents


MakeFiles = Callable[..., dict[str, Any]]


@pytest.fixture
def make_files(tmp_path: Path) -> MakeFiles:
    """Writes a small MNIST; keywords replace the content of a file, None leaves it out."""

    def make(changes: dict[str, bytes | None] | None = None, rename: Callable[[str], str] = str) -> dict[str, Any]:
        root = tmp_path / "idx"
        root.mkdir()
        for name, content in (_contents() | (changes or {})).items():
            if content is not None:
                renamed = rename(name)
                (root / renamed).write_bytes(gzip.compress(content) if renamed.endswith(".gz") else content)
        return {"name": "mnist", "root": str(root)}

    return make


@pytest.mark.parametrize(
    "rename", [str, "{}.gz".format, lambda name: name.replace("-idx", ".idx")], ids=["plain", "gz", "dots"]
)
def test_idx_files_load(make_files: MakeFiles, tmp_path: Path, rename: Callable[[str], str]) -> None:
    data = make_files(rename=rename)
    memory_mapped_datasets.check(data)
    loaded = memory_mapped_datasets.load(data, SPLIT, tmp_path / "cache")
    contents = _contents()
    images = np.frombuffer(contents[X_TRAIN][16:] + contents[X_TEST][16:], dtype=np.uint8)
    assert np.array_equal(loaded.inputs, images.reshape(-1, SIDE * SIDE))
    assert np.array_equal(loaded.targets[:TRAIN], np.arange(TRAIN) % CLASSES)
    assert (loaded.image, len(loaded.classes)) == ((1, SIDE, SIDE), CLASSES)
    train, _ = loaded.split("train")
    assert loaded.mean == pytest.approx(train.mean()) and loaded.std == pytest.approx(train.std())
    assert loaded.task == "classification" and loaded.targets.dtype == np.int64 and not loaded.target_mean


def test_cache_is_memory_mapped_and_written_once(make_files: MakeFiles, tmp_path: Path) -> None:
    data = make_files()
    first = memory_mapped_datasets.load(data, SPLIT, tmp_path / "cache")
    assert isinstance(first.inputs, np.memmap)
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.npy")}
    memory_mapped_datasets.load(data, SPLIT, tmp_path / "cache")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.npy")} == made
    assert not list((tmp_path / "cache").glob("*.tmp"))


def test_changed_source_is_read_again(make_files: MakeFiles, tmp_path: Path) -> None:
    data = make_files()
    memory_mapped_datasets.load(data, SPLIT, tmp_path / "cache")
    changed = idx(np.full(TEST, 3, dtype=np.uint8))
    file = Path(data["root"]) / Y_TEST
    file.write_bytes(changed)
    _, targets = memory_mapped_datasets.load(data, SPLIT, tmp_path / "cache").split("test")
    assert set(targets) == {3}


GOOD = _contents()
BROKEN: list[tuple[str, dict[str, bytes | None], str]] = [
    ("no file", {Y_TEST: None}, f"has no file {Y_TEST}"),
    ("truncated", {X_TRAIN: GOOD[X_TRAIN][:-1]}, "truncated or damaged"),
    ("too long", {X_TRAIN: GOOD[X_TRAIN] + b"x"}, "truncated or damaged"),
    ("wrong magic", {X_TEST: b"\x89PNG" + GOOD[X_TEST][4:]}, "not an IDX file with data type unsigned byte"),
    ("floats", {X_TEST: b"\0\0\x0d\3" + GOOD[X_TEST][4:]}, "not an IDX file with data type unsigned byte"),
    ("empty", {Y_TRAIN: b""}, "not an IDX file with data type unsigned byte"),
    ("half a header", {X_TRAIN: GOOD[X_TRAIN][:10]}, "not an IDX file with data type unsigned byte"),
]


@pytest.mark.parametrize(("changes", "message"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
@pytest.mark.parametrize("use", ["check", "load"])
def test_broken_file_is_rejected_by_name(
    make_files: MakeFiles, tmp_path: Path, use: str, changes: dict[str, bytes | None], message: str
) -> None:
    data = make_files(changes)
    with pytest.raises(DataError, match=message) as caught:
        memory_mapped_datasets.check(data) if use == "check" else memory_mapped_datasets.load(
            data, SPLIT, tmp_path / "cache"
        )
    assert next(iter(changes)) in str(caught.value)


def _flip(content: bytes, at: int) -> bytes:
    return content[:at] + bytes(255 - byte for byte in content[at : at + 9]) + content[at + 9 :]


@pytest.mark.parametrize(
    "damage",
    [lambda c: c[: len(c) // 2], lambda c: _flip(c, 10), lambda c: _flip(c, len(c) // 2), lambda c: c[:5]],
    ids=["truncated", "flipped at the start", "flipped in the middle", "almost empty"],
)
def test_damaged_gzip_file_is_rejected(make_files: MakeFiles, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    data = make_files(rename="{}.gz".format)
    file = Path(data["root"]) / f"{X_TRAIN}.gz"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(DataError, match=f"{X_TRAIN}.gz"):
        memory_mapped_datasets.load(data, SPLIT, tmp_path / "cache")


def test_images_in_place_of_labels_are_rejected(make_files: MakeFiles, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=Y_TRAIN):
        memory_mapped_datasets.load(make_files({Y_TRAIN: GOOD[X_TRAIN]}), SPLIT, tmp_path / "cache")


def test_different_numbers_of_images_and_labels_are_rejected(make_files: MakeFiles, tmp_path: Path) -> None:
    fewer = idx(np.zeros(TRAIN - 1, dtype=np.uint8))
    with pytest.raises(DataError, match="train images, but"):
        memory_mapped_datasets.load(make_files({Y_TRAIN: fewer}), SPLIT, tmp_path / "cache")


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"folder {tmp_path / 'none'} does not exist"):
        memory_mapped_datasets.check({"name": "mnist", "root": str(tmp_path / "none")})


def test_unknown_name_is_rejected() -> None:
    with pytest.raises(DataError, match="unknown data set 'mnits'"):
        memory_mapped_datasets.check({"name": "mnits"})


def test_failed_read_leaves_no_cache(make_files: MakeFiles, tmp_path: Path) -> None:
    data = make_files({Y_TRAIN: idx(np.zeros(TRAIN - 1, dtype=np.uint8))})
    with pytest.raises(DataError):
        memory_mapped_datasets.load(data, SPLIT, tmp_path / "cache")
    assert [path for path in (tmp_path / "cache").iterdir() if path.suffix != ".lock"] == []


# Tables and values.

DIABETES = {"name": "diabetes"}


def test_diabetes_is_a_regression_table(tmp_path: Path) -> None:
    memory_mapped_datasets.check(DIABETES)
    loaded = memory_mapped_datasets.load(DIABETES, SPLIT, tmp_path)
    assert (loaded.task, loaded.image, loaded.classes) == ("regression", (1, 1, 10), ("disease progression",))
    assert loaded.inputs.shape == (442, 10) and loaded.targets.shape == (442, 1)
    assert loaded.inputs.dtype == loaded.targets.dtype == np.float32
    assert loaded.inputs[0, :2].tolist() == [59, 2]  # years and a code: nothing is scaled
    assert (loaded.targets.min(), loaded.targets.max()) == (25, 346)


def test_each_column_has_its_own_moments(tmp_path: Path) -> None:
    loaded = memory_mapped_datasets.load(DIABETES, SPLIT, tmp_path)
    inputs, targets = loaded.split("train")
    assert loaded.mean == pytest.approx(inputs.mean(axis=0), rel=1e-5)
    assert loaded.std == pytest.approx(inputs.std(axis=0), rel=1e-5)
    assert loaded.target_mean == pytest.approx(targets.mean(axis=0), rel=1e-5)
    assert loaded.target_std == pytest.approx(targets.std(axis=0), rel=1e-5)


def test_constant_column_has_deviation_1() -> None:
    found = mean_and_std(np.array([[1.0, 7.0], [3.0, 7.0]]), np.arange(2), by_column=True)
    assert found.tolist() == [[2.0, 7.0], [1.0, 1.0]]


def test_regression_rows_are_shuffled_by_seed(tmp_path: Path) -> None:
    first = _rows(DIABETES, tmp_path / "one")
    assert [len(first[name]) for name in memory_mapped_datasets.SPLITS] == [309, 45, 44, 44]
    assert sorted(row for part in first.values() for row in part) == list(range(442))
    assert _rows(DIABETES, tmp_path / "two") == first != _rows(DIABETES, tmp_path / "one", seed=1)


@pytest.mark.parametrize("data", [DIABETES, {"name": "digits"}], ids=lambda data: data["name"])
def test_split_is_in_row_order(tmp_path: Path, data: dict[str, Any]) -> None:
    loaded = memory_mapped_datasets.load(data, SPLIT, tmp_path)
    for name in memory_mapped_datasets.SPLITS:
        rows = loaded.rows[name]
        inputs, targets = loaded.split(name)
        assert (np.diff(rows) > 0).all()
        assert np.array_equal(inputs, loaded.inputs[rows]) and np.array_equal(targets, loaded.targets[rows])
        lazily = loaded.inputs_of(name)
        assert len(lazily) == len(inputs) and np.array_equal(lazily[3:9], inputs[3:9])


# Splits.


def _rows(data: dict[str, Any], cache: Path, **changes: Any) -> dict[str, list[int]]:
    rows = memory_mapped_datasets.load(data, SPLIT | changes, cache).rows
    return {name: rows[name].tolist() for name in memory_mapped_datasets.SPLITS}


def test_official_test_set_is_the_test_split(make_files: MakeFiles, tmp_path: Path) -> None:
    assert _rows(make_files(), tmp_path / "cache")["test"] == list(range(TRAIN, TRAIN + TEST))


@pytest.mark.parametrize("split", [[0.7, 0.1, 0.1, 0.1], [0.4, 0.3, 0.2, 0.1], [0.7, 0.2, 0.05, 0.05]])
def test_splits_are_disjoint_and_cover_every_row(make_files: MakeFiles, tmp_path: Path, split: list[float]) -> None:
    rows = _rows(make_files(), tmp_path / "cache", split=split)
    assert sorted(row for part in rows.values() for row in part) == list(range(TRAIN + TEST))


def test_fractions_are_stratified_by_class(make_files: MakeFiles, tmp_path: Path) -> None:
    loaded = memory_mapped_datasets.load(make_files(), SPLIT | {"split": [0.6, 0.2, 0.1, 0.1]}, tmp_path / "cache")
    for name, share in (("train", 6 / 9), ("validation", 2 / 9), ("calibration", 1 / 9)):
        _, targets = loaded.split(name)
        counts = np.bincount(targets, minlength=CLASSES)
        assert len(set(counts.tolist())) == 1
        assert abs(int(counts[0]) - share * TRAIN / CLASSES) <= 1


def test_empty_split_is_rejected(make_files: MakeFiles, tmp_path: Path) -> None:
    data = make_files()
    with pytest.raises(DataError, match="the validation split has none of the 250 rows; increase its fraction"):
        memory_mapped_datasets.load(data, SPLIT | {"split": [0.97, 0.01, 0.01, 0.01]}, tmp_path / "cache")


def test_seed_determines_splits(make_files: MakeFiles, tmp_path: Path) -> None:
    data = make_files()
    first = _rows(data, tmp_path / "one")
    assert _rows(data, tmp_path / "two") == first
    assert _rows(data, tmp_path / "one", seed=1)["train"] != first["train"]


@given(
    labels=st.lists(st.integers(0, 4), min_size=1, max_size=60),
    official=st.integers(0, 10),
    cuts=st.tuples(*[st.integers(1, 20)] * 4),
    seed=st.integers(0, 99),
)
def test_any_split_is_disjoint_and_complete(labels: list[int], official: int, cuts: tuple[int, ...], seed: int) -> None:
    targets = np.array([*labels, *[0] * official])
    shares = [cut / sum(cuts) for cut in cuts]
    parts = split_rows(targets, np.arange(len(labels), len(targets)), shares=shares, seed=seed)
    assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(len(targets)))
    if official:
        assert parts["test"].tolist() == list(range(len(labels), len(targets)))


# Folds.


@given(
    labels=st.lists(st.integers(0, 4), min_size=2, max_size=60),
    validation=st.integers(1, 59),
    folds=st.integers(2, 8),
    seed=st.integers(0, 99),
)
def test_each_row_is_validated_in_one_fold(labels: list[int], validation: int, folds: int, seed: int) -> None:
    targets = np.array(labels)
    cut = min(validation, len(labels) - 1)
    splits = {"train": np.arange(cut), "validation": np.arange(cut, len(labels))}
    found = fold_rows(targets, splits, folds=folds, seed=seed)
    assert sorted(np.concatenate([held_out for _, held_out in found]).tolist()) == list(range(len(labels)))
    sizes = [len(held_out) for _, held_out in found]
    assert len(found) == folds and max(sizes) - min(sizes) <= 1
    for train, held_out in found:
        assert sorted([*train.tolist(), *held_out.tolist()]) == list(range(len(labels)))
        assert (np.diff(train) > 0).all() and (np.diff(held_out) > 0).all()
    for label in set(labels):
        counts = [int((targets[held_out] == label).sum()) for _, held_out in found]
        assert max(counts) - min(counts) <= 1
    again = fold_rows(targets, splits, folds=folds, seed=seed)
    assert all(
        np.array_equal(one, other) for a, b in zip(found, again, strict=True) for one, other in zip(a, b, strict=True)
    )


def test_folds_have_own_moments_and_keep_other_splits(tmp_path: Path) -> None:
    whole = memory_mapped_datasets.load(DIABETES, SPLIT, tmp_path)
    folds = memory_mapped_datasets.load_folds(DIABETES, SPLIT | {"folds": 3}, tmp_path)
    assert len(folds) == 3
    for fold in folds:
        inputs, targets = fold.split("train")
        assert fold.mean == pytest.approx(inputs.mean(axis=0), rel=1e-5)
        assert fold.target_std == pytest.approx(targets.std(axis=0), rel=1e-5)
        for name in ("calibration", "test"):
            assert np.array_equal(fold.rows[name], whole.rows[name])
    assert whole.sha256 == memory_mapped_datasets.load(DIABETES, SPLIT | {"folds": 3}, tmp_path).sha256


def test_more_folds_than_rows_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,y\n" + "".join(f"{row},{row / 2}\n" for row in range(10)))
    data = {"file": str(tmp_path / "rows.csv"), "target": "y", "task": "regression"}
    split = {"split": [0.2, 0.1, 0.1, 0.6], "seed": 0, "folds": 9}
    with pytest.raises(DataError, match=r"9 folds of 3 rows: a fold would be empty; lower validation.folds"):
        memory_mapped_datasets.load_folds(data, split, tmp_path / "cache")


# Remains of killed processes.


def test_remains_of_killed_process_are_removed(make_files: MakeFiles, tmp_path: Path) -> None:
    data, cache = make_files(), tmp_path / "cache"
    memory_mapped_datasets.load(data, SPLIT, cache)
    whole = min((path for path in cache.iterdir() if path.is_dir()), key=lambda path: len(path.name))
    left = whole.rename(cache / f"{whole.name}.4321.tmp")
    memory_mapped_datasets.load(data, SPLIT, cache)
    assert whole.is_dir() and not left.exists()


def test_idx_folder_has_the_classes_of_its_labels(make_files: MakeFiles, tmp_path: Path) -> None:
    letters = {Y_TRAIN: idx((np.arange(TRAIN) % 26).astype(np.uint8)), Y_TEST: idx(np.full(TEST, 25, dtype=np.uint8))}
    root = make_files(dict(letters))["root"]
    with pytest.raises(DataError, match=f"{root} has labels above 9; use idx instead of name and root"):
        memory_mapped_datasets.load({"name": "mnist", "root": root}, SPLIT, tmp_path / "cache")
    split = SPLIT | {"split": [0.4, 0.3, 0.3, 0.0001]}
    loaded = memory_mapped_datasets.load({"idx": root}, split, tmp_path / "cache")
    assert loaded.classes == tuple(map(str, range(26))) and loaded.name == "idx"
    assert loaded.rows["test"].tolist() == list(range(TRAIN, TRAIN + TEST))
