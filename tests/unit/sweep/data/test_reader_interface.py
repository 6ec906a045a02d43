"""Data files: all formats load equally; errors name file, row and column."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from podium.sweep.data import data_source_opener, memory_mapped_datasets
from podium.sweep.data.reader_interface import ReadLimits
from podium.sweep.values.errors import DataError

SMALL = ReadLimits(piece_bytes=200, piece_strings=20)  # a few rows per piece, so that each file has several pieces
SPLIT = {"split": [0.4, 0.2, 0.2, 0.2], "seed": 0}
ROWS = 30
INPUTS = np.round(np.random.default_rng(7).normal(size=(ROWS, 3)), 3).astype(np.float32)
NAMES = ["height", "weight", "age"]
VALUES = (np.arange(ROWS) * 0.5).astype(np.float32)
WORDS = np.array(["pear", "apple", "fig"])[np.arange(ROWS) % 3]


def write_csv(path: Path, target: Any, delimiter: str = ",", rows: slice = slice(None)) -> None:
    lines = [delimiter.join([*NAMES, "y"])]
    lines += [delimiter.join([*map(str, x), str(y)]) for x, y in zip(INPUTS[rows].tolist(), target[rows], strict=True)]
    path.write_text("\n".join(lines) + "\n")


def write_npz(path: Path, target: Any, rows: slice = slice(None)) -> None:
    columns: dict[str, Any] = {name: INPUTS[rows, position] for position, name in enumerate(NAMES)}
    np.savez_compressed(path, **columns, y=target[rows])


def write_parquet(path: Path, target: Any, rows: slice = slice(None)) -> None:
    columns = {name: INPUTS[rows, position] for position, name in enumerate(NAMES)}
    pq.write_table(pa.table({**columns, "y": target[rows]}), path, row_group_size=7)


WRITERS: dict[str, Callable[..., None]] = {"csv": write_csv, "npz": write_npz, "parquet": write_parquet}


def named(path: Path, **more: Any) -> dict[str, Any]:
    features = {"features": NAMES} if path.suffix == ".npz" or more.pop("by_name", False) else {}
    return {"name": None, "file": str(path), "target": "y", "task": None, **features, **more}


def shards(folder: Path, kind: str, target: Any) -> Path:
    """Four files with the same rows, named in order."""
    folder.mkdir()
    for number, start in enumerate(range(0, ROWS, 8)):
        WRITERS[kind](folder / f"part-{number}.{kind}", target, rows=slice(start, start + 8))
    return folder


def check(data: dict[str, Any], limits: ReadLimits = SMALL) -> data_source_opener.Source:
    return memory_mapped_datasets.check(data, limits)


def load(data: dict[str, Any], split: dict[str, Any], cache: Path) -> memory_mapped_datasets.Dataset:
    return memory_mapped_datasets.load(data, split, cache, SMALL)


@pytest.mark.parametrize("kind", WRITERS)
def test_numeric_target_loads(tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"rows.{kind}"
    WRITERS[kind](file, VALUES)
    data = named(file)
    found = check(data)
    assert (found.task, found.inferred) == ("regression", "'y' has decimal numbers")
    loaded = load(data, SPLIT, tmp_path / "cache")
    assert np.array_equal(loaded.inputs, INPUTS) and loaded.inputs.dtype == np.float32
    assert np.array_equal(loaded.targets, VALUES[:, None])
    assert (loaded.task, loaded.image, loaded.columns) == ("regression", (1, 1, 3), tuple(NAMES))
    assert (loaded.classes, loaded.name) == (("y",), file.name)
    train, targets = loaded.split("train")
    assert loaded.mean == pytest.approx(train.mean(axis=0), rel=1e-5)
    assert loaded.target_std == pytest.approx(targets.std(axis=0), rel=1e-5)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("target", [WORDS, np.arange(ROWS) % 3 * 10 - 10], ids=["strings", "integers"])
def test_classes_are_sorted(tmp_path: Path, kind: str, target: Any) -> None:
    file = tmp_path / f"rows.{kind}"
    WRITERS[kind](file, target)
    assert check(named(file)).task == "classification"
    loaded = load(named(file), SPLIT, tmp_path / "cache")
    assert loaded.classes == (("apple", "fig", "pear") if target is WORDS else ("-10", "0", "10"))
    assert [loaded.classes[code] for code in loaded.targets] == [str(value) for value in target]
    assert np.array_equal(loaded.inputs, INPUTS)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("target", [WORDS, VALUES], ids=["classes", "values"])
def test_shards_equal_a_single_file(tmp_path: Path, kind: str, target: Any) -> None:
    whole = tmp_path / f"rows.{kind}"
    WRITERS[kind](whole, target)
    parts = shards(tmp_path / "parts", kind, target)
    (parts / "_SUCCESS").touch()
    features = {"features": NAMES}
    one = load(named(whole, **features), SPLIT, tmp_path / "cache")
    other = load(named(parts, **features), SPLIT, tmp_path / "cache")
    assert np.array_equal(one.inputs, other.inputs) and np.array_equal(one.targets, other.targets)
    assert one.classes == other.classes and one.sha256 == other.sha256


def test_only_named_columns_are_read(tmp_path: Path) -> None:
    write_csv(tmp_path / "rows.csv", VALUES)
    data = named(tmp_path / "rows.csv", features=["age", "height"], task="regression", name="people")
    loaded = load(data, SPLIT, tmp_path / "cache")
    assert np.array_equal(loaded.inputs, INPUTS[:, [2, 0]])
    assert (loaded.columns, loaded.name) == (("age", "height"), "people")


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_are_detected(tmp_path: Path, delimiter: str) -> None:
    write_csv(tmp_path / "rows.csv", VALUES, delimiter)
    assert np.array_equal(load(named(tmp_path / "rows.csv"), SPLIT, tmp_path / "cache").inputs, INPUTS)


def test_quotes_blank_lines_and_byte_order_mark_are_handled(tmp_path: Path) -> None:
    lines = ['"a","the, b",y', "1,2,x", "", '"3","4","y, ""z"""', *["5,6,x", "7,8,x"] * 4, ""]
    (tmp_path / "rows.csv").write_bytes("\r\n".join(lines).encode("utf-8-sig"))
    loaded = load(named(tmp_path / "rows.csv"), SPLIT | {"split": [0.4, 0.3, 0.2, 0.1]}, tmp_path / "cache")
    assert loaded.columns == ("a", "the, b") and loaded.classes == ("x", 'y, "z"')
    assert loaded.inputs[:2].tolist() == [[1, 2], [3, 4]]


# Arrays.


def test_images_of_npz_load(tmp_path: Path) -> None:
    images = np.random.default_rng(1).integers(0, 256, (ROWS, 3, 4, 5), dtype=np.uint8)
    np.savez(tmp_path / "rows.npz", x=images, y=np.arange(ROWS) % 2, about=np.array([1, 2]))
    loaded = load(
        {"file": str(tmp_path / "rows.npz"), "target": "y", "task": "classification"}, SPLIT, tmp_path / "cache"
    )
    assert loaded.image == (3, 4, 5) and loaded.inputs.dtype == np.uint8 and isinstance(loaded.mean, float)
    assert np.array_equal(loaded.inputs, images.reshape(ROWS, -1))


@pytest.mark.parametrize("target", [np.arange(ROWS) > 9, (np.arange(ROWS) % 2).astype(np.float64)], ids=["bool", "1.0"])
def test_boolean_and_float_classes_load(tmp_path: Path, target: Any) -> None:
    np.savez(tmp_path / "rows.npz", x=np.asfortranarray(INPUTS), y=target)
    data = {"file": str(tmp_path / "rows.npz"), "target": "y", "task": "classification"}
    loaded = load(data, SPLIT, tmp_path / "cache")
    assert loaded.classes in (("False", "True"), ("0", "1")) and loaded.targets.tolist() == target.astype(int).tolist()
    assert np.array_equal(loaded.inputs, INPUTS)


def test_several_target_columns_load(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", x=INPUTS, y=INPUTS[:, :2] * 2)
    loaded = load({"file": str(tmp_path / "rows.npz"), "target": "y"}, SPLIT, tmp_path / "cache")
    assert loaded.task == "regression" and loaded.classes == ("y[0]", "y[1]")
    assert np.array_equal(loaded.targets, INPUTS[:, :2] * 2)


BAD_ARRAYS: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("no target", {"x": INPUTS}, {}, "has no column 'y'; known: x"),
    ("a close name", {"x": INPUTS, "ys": VALUES}, {}, "did you mean 'ys'"),
    ("objects", {"x": INPUTS, "y": np.array([None] * ROWS)}, {}, "array 'y' has dtype object"),
    ("strings as inputs", {"x": WORDS, "y": VALUES}, {}, "array 'x' has unsupported dtype <U5"),
    ("other lengths", {"x": INPUTS[:9], "y": VALUES}, {"features": ["x"]},
     "array 'x' has 9 rows, but the target 'y' has 30"),
    ("several arrays", {"x": INPUTS, "z": INPUTS, "y": VALUES}, {}, r"several arrays \(x, z\)"),
    ("a target alone", {"x": INPUTS, "y": np.array(1.0)}, {"features": ["x"]}, "array 'y' has no rows"),
    ("dates", {"x": INPUTS, "y": np.zeros(ROWS, "M8[s]")}, {}, "array 'y' has unsupported dtype datetime64"),
    ("no columns", {"x": np.zeros((ROWS, 0)), "y": VALUES}, {}, r"array 'x' has no values: shape \[30, 0\]"),
    ("no rows", {"x": INPUTS[:0], "y": VALUES[:0]}, {}, "has no rows"),
    ("the target as a feature", {"x": INPUTS, "y": VALUES}, {"features": ["x", "y"]},
     "must not include the target 'y'"),
    ("only a target", {"y": VALUES}, {}, "no columns except the target"),
    ("strings to regress", {"x": INPUTS, "y": WORDS}, {"task": "regression"}, "has strings; regression needs numbers"),
    ("columns as a class", {"x": INPUTS, "y": INPUTS}, {"task": "classification"},
     "must have one column for classification, got 3"),
    ("too many integers", {"x": np.ones((200, 2)), "y": np.arange(200)}, {}, "set task: classification or task"),
]  # fmt: skip


@pytest.mark.parametrize(("arrays", "more", "message"), [c[1:] for c in BAD_ARRAYS], ids=[c[0] for c in BAD_ARRAYS])
def test_invalid_arrays_are_rejected_before_reading(
    tmp_path: Path, arrays: dict[str, Any], more: dict[str, Any], message: str
) -> None:
    np.savez(tmp_path / "rows.npz", **arrays)
    with pytest.raises(DataError, match=message) as caught:
        check({"file": str(tmp_path / "rows.npz"), "target": "y", **more})
    assert str(tmp_path / "rows.npz") in str(caught.value) or "must not include the target 'y'" in message


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_non_finite_number_is_rejected_by_row(tmp_path: Path, value: float) -> None:
    inputs = INPUTS.astype(np.float64)
    inputs[17, 1] = value
    np.savez(tmp_path / "rows.npz", x=inputs, y=VALUES)
    with pytest.raises(DataError, match=r"rows.npz, row 18, column "):
        load({"file": str(tmp_path / "rows.npz"), "target": "y"}, SPLIT, tmp_path / "cache")


def test_fraction_as_class_is_rejected(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", x=INPUTS, y=VALUES)
    data = {"file": str(tmp_path / "rows.npz"), "target": "y", "task": "classification"}
    with pytest.raises(DataError, match=r"'y' has 0.5: class labels must be integers or strings"):
        load(data, SPLIT, tmp_path / "cache")


def test_single_class_is_rejected(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", x=INPUTS, y=np.ones(ROWS, dtype=int))
    with pytest.raises(DataError, match="has only one class: '1'"):
        load({"file": str(tmp_path / "rows.npz"), "target": "y"}, SPLIT, tmp_path / "cache")


# Damage.


@pytest.mark.parametrize("kind", ["npz", "parquet"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_truncated_file_is_rejected_by_name(tmp_path: Path, kind: str, share: float) -> None:
    file = tmp_path / f"rows.{kind}"
    WRITERS[kind](file, VALUES)
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(DataError, match=f"rows.{kind} is not a"):
        check(named(file))


def test_damage_is_detected_while_reading(tmp_path: Path) -> None:
    inputs = np.random.default_rng(0).normal(size=(2000, 3))
    np.savez(tmp_path / "rows.npz", x=inputs, y=inputs[:, 0])
    content = bytearray((tmp_path / "rows.npz").read_bytes())
    content[20_000:20_100] = bytes(100)
    (tmp_path / "rows.npz").write_bytes(content)
    data = {"file": str(tmp_path / "rows.npz"), "target": "y"}
    check(data)
    with pytest.raises(DataError, match=r"rows.npz is truncated or damaged: Bad CRC"):
        load(data, SPLIT, tmp_path / "cache")
    assert [path for path in (tmp_path / "cache").iterdir() if path.suffix != ".lock"] == []


BAD_CSV: list[tuple[str, str, str]] = [
    ("empty", "", "is empty"),
    ("blank lines", "\n\n\n", "is empty"),
    ("no header", "1,2,3\n4,5,6\n", "has no header; the first line must have column names"),
    ("header alone", "a,b,y\n", "has a header but no rows"),
    ("a column without a name", "a,,y\n1,2,3\n", "column 2 has no name"),
    ("twice the same name", "a,a,y\n1,2,3\n", "duplicate column 'a'"),
    ("no target", "a,b,z\n1,2,3\n", "has no column 'y'"),
    ("too few values", "a,b,y\n1,2,3\n1,2\n", "line 3: expected 3 values, as in the header, got 2"),
    ("too many values", "a,b,y\n1,2,3,4\n", "line 2: expected 3 values, as in the header, got 4"),
    ("missing", "a,b,y\n1,2,3\n1,,3\n", "line 3, column 'b': missing value"),
    ("no target's value", "a,b,y\n1,2,p\n1,2,\n", "line 3: missing value of the target 'y'"),
    ("text", "a,b,y\n1,2,3\n\n1,Ulm,3\n", "line 4, column 'b': 'Ulm' is not a number; encode strings as numbers"),
    ("a decimal comma", 'a;b;y\n1;"2,5";3\n', "line 2, column 'b': '2,5' is not a number; use a decimal point"),
    ("not a number", "a,b,y\n1,nan,3\n", "line 2, column 'b': 'nan' is not a number"),
    ("infinite", "a,b,y\n1,inf,3\n", "line 2, column 'b': 'inf' is not a finite float32"),
    ("an open quote", 'a,b,y\n1,"2,3\n1,2,3\n', "unexpected end of data"),
]


@pytest.mark.parametrize(("content", "message"), [c[1:] for c in BAD_CSV], ids=[c[0] for c in BAD_CSV])
def test_invalid_csv_is_rejected_by_line_and_column(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        check(named(file))
    assert str(file) in str(caught.value)


def test_late_invalid_csv_line_is_rejected_while_reading(tmp_path: Path) -> None:
    lines = ["a,b,y", *["1,2,0.5"] * 2000, "1,2,three"]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    assert check(named(tmp_path / "rows.csv")).task == "regression"
    with pytest.raises(DataError, match="line 2,002, column 'y': 'three' is not a number; for classification"):
        load(named(tmp_path / "rows.csv"), SPLIT, tmp_path / "cache")


def test_other_encoding_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes("a,b,y\n1,2,Käse\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"rows.csv: invalid UTF-8"):
        check(named(tmp_path / "rows.csv"))


def test_missing_parquet_value_is_rejected_by_row(tmp_path: Path) -> None:
    column = pa.array([1.0, 2.0, None, 4.0])
    pq.write_table(pa.table({"a": column, "b": [1.0, 2.0, 3.0, 4.0], "y": [0.5, 1, 2, 3]}), tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="row 3, column 'a': missing value"):
        load(named(tmp_path / "rows.parquet"), SPLIT, tmp_path / "cache")


def test_parquet_strings_are_rejected_by_column(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["x", "y"], "y": [0.5, 1]}), tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="column 'a' has unsupported type string; encode it as numbers"):
        check(named(tmp_path / "rows.parquet"))


def test_missing_pyarrow_is_reported_with_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_parquet(tmp_path / "rows.parquet", VALUES)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"reading Parquet needs pyarrow: pip install 'podium\[parquet\]'"):
        check(named(tmp_path / "rows.parquet"))


# Folders.


def test_shards_with_different_columns_are_rejected(tmp_path: Path) -> None:
    parts = shards(tmp_path / "parts", "csv", VALUES)
    (parts / "part-2.csv").write_text("height,weight,size,y\n1,2,3,4\n")
    with pytest.raises(DataError, match=r"part-2.csv and .*part-0.csv differ in columns: age, size"):
        check(named(parts))


def test_shards_of_different_formats_are_rejected(tmp_path: Path) -> None:
    parts = shards(tmp_path / "parts", "csv", VALUES)
    write_npz(parts / "part-9.npz", VALUES)
    with pytest.raises(DataError, match=r"has files of several formats: part-0.csv and part-9.npz"):
        check(named(parts, features=NAMES))


def test_damaged_shard_is_named(tmp_path: Path) -> None:
    parts = shards(tmp_path / "parts", "npz", VALUES)
    (parts / "part-1.npz").write_bytes(b"PK")
    with pytest.raises(DataError, match=r"part-1.npz is not an .npz file"):
        check(named(parts, features=NAMES))


def test_empty_folder_and_missing_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"folder {tmp_path} has no data files; supported formats: .npz, .csv"):
        check(named(tmp_path))
    with pytest.raises(DataError, match=f"file {tmp_path}/none.csv does not exist"):
        check(named(tmp_path / "none.csv"))
    (tmp_path / "rows.xlsx").touch()
    with pytest.raises(DataError, match=r"rows.xlsx: unsupported format; supported: .npz, .csv, .parquet"):
        check(named(tmp_path / "rows.xlsx"))


def test_named_pipe_is_rejected_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.csv")
    with pytest.raises(DataError, match=r"rows.csv is neither a file nor a folder"):
        check(named(tmp_path / "rows.csv"))


def test_endless_line_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,y\n1,2,3\n" + "1" * (3 << 20))
    with pytest.raises(DataError, match="is not a CSV file: a row exceeds 1 MB"):
        check(named(tmp_path / "rows.csv"), ReadLimits(row_characters=1 << 20))


def test_endless_quoted_row_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,y\n1,2," + '"\n",' * (1 << 18))
    with pytest.raises(DataError, match="is not a CSV file: a row exceeds 1 MB"):
        check(named(tmp_path / "rows.csv"), ReadLimits(row_characters=1 << 20))


def test_float_after_many_integers_is_not_a_class(tmp_path: Path) -> None:
    lines = ["a,b,y", *(f"1,2,{row % 7}" for row in range(1000)), "1,2,3.5"]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    assert check(named(tmp_path / "rows.csv")).task == "classification"
    message = r"line 1,002: the target 'y' has 3.5; class labels .* set task: regression"
    with pytest.raises(DataError, match=message) as caught:
        load(named(tmp_path / "rows.csv"), SPLIT, tmp_path / "cache")
    assert caught.value.key == "task"


@pytest.mark.parametrize("task", [None, "classification"])
def test_integer_class_has_one_name_in_any_spelling(tmp_path: Path, task: str | None) -> None:
    labels = ["1", "2"] * 600 + ["01", "1.0", "+1", "2.00", "1e0"]
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "".join(f"1,2,{label}\n" for label in labels))
    loaded = load(named(tmp_path / "rows.csv", task=task), SPLIT, tmp_path / "cache")
    assert loaded.classes == ("1", "2")


def test_numeric_strings_stay_strings_among_strings(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "1,2,01\n1,2,1\n1,2,x\n" * 9)
    assert load(named(tmp_path / "rows.csv"), SPLIT, tmp_path / "cache").classes == ("01", "1", "x")


@pytest.mark.parametrize("kind", WRITERS)
def test_many_distinct_integers_require_a_task(tmp_path: Path, kind: str) -> None:
    WRITERS[kind](tmp_path / f"rows.{kind}", np.arange(ROWS))
    with pytest.raises(DataError, match="has 30 distinct integers in its first 30 rows"):
        check(named(tmp_path / f"rows.{kind}"), ReadLimits(classes=20))


# Wide rows.


@pytest.mark.parametrize("kind", WRITERS)
def test_number_of_columns_is_limited(tmp_path: Path, kind: str) -> None:
    WRITERS[kind](tmp_path / f"rows.{kind}", VALUES)
    with pytest.raises(DataError, match=f"rows.{kind} has 4 columns; at most 3 are supported"):
        check(named(tmp_path / f"rows.{kind}"), ReadLimits(columns=3))


def test_few_wide_rows_are_sampled(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "1,2,1\n1,2,0\n" * 2 + "1,two,1\n")
    check(named(tmp_path / "rows.csv"), ReadLimits(sample_strings=12))
    with pytest.raises(DataError, match="'two' is not a number"):
        check(named(tmp_path / "rows.csv"), ReadLimits(sample_strings=15))


def test_size_of_npz_row_is_limited(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "rows.npz", x=np.zeros((4, 1 << 20), np.float32), y=np.arange(4) % 2)
    with pytest.raises(DataError, match="a row of array 'x' takes 4,194,304 bytes, more than 1 MB") as caught:
        check(named(tmp_path / "rows.npz", features=["x"]), ReadLimits(row_bytes=1 << 20))
    assert caught.value.key == "features"


# Hashes.


def test_equal_rows_have_equal_hash(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    write_csv(file, VALUES)
    first = load(named(file), SPLIT, tmp_path / "one").sha256
    file.touch()
    assert load(named(file), SPLIT, tmp_path / "one").sha256 == first
    assert load(named(file), SPLIT | {"seed": 1}, tmp_path / "one").sha256 != first
    file.write_text(file.read_text().replace("0.5", "0.6"))
    assert load(named(file), SPLIT, tmp_path / "one").sha256 != first


# Larger than memory.

_LIMITED = """
import resource, sys
from pathlib import Path
import numpy as np
from podium.sweep.data import data_source_opener, memory_mapped_datasets  # imported before memory is measured
data = {"file": sys.argv[1], "target": "y", "task": "regression"}
used = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) << 10
resource.setrlimit(resource.RLIMIT_DATA, (used + (%d << 20),) * 2)
loaded = memory_mapped_datasets.load(data, {"split": [0.7, 0.1, 0.1, 0.1], "seed": 0}, Path(sys.argv[2]))
try:
    loaded.split("train")
    print("it fits in memory")
except MemoryError:
    print(loaded.inputs.shape, loaded.mean[0], loaded.sha256)
"""


@pytest.mark.slow
def test_file_larger_than_memory_loads(tmp_path: Path) -> None:
    rows, columns, allowed_mb = 400_000, 64, 64
    generator = np.random.default_rng(0)
    inputs = np.repeat(generator.normal(size=(rows // 100, columns)).astype(np.float32), 100, axis=0)
    np.savez_compressed(tmp_path / "rows.npz", x=inputs, y=inputs[:, 0])
    assert inputs.nbytes > 1.5 * (allowed_mb << 20)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_LIMITED) % allowed_mb, str(tmp_path / "rows.npz"), str(tmp_path / "c")],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"({rows}, {columns})"), done.stdout


def test_special_files_in_folder_are_skipped(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", VALUES)
    os.mkfifo(tmp_path / "b.csv")
    (tmp_path / "c.csv").mkdir()
    assert data_source_opener.table_paths(tmp_path) == [tmp_path / "a.csv"]
