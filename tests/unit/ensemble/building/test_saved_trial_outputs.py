"""The held-out rows of a model: the same rows are loaded again, and different ones are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from podium.ensemble.building.saved_trial_outputs import Architecture, read_architecture
from podium.ensemble.values.ensemble_spec import Task
from podium.sweep.data import memory_mapped_datasets
from podium.sweep.values.errors import EnsembleError
from podium.sweep.values.saved_network_manifest import HEADER

SPLIT = {"split": [0.4, 0.2, 0.2, 0.2], "seed": 0}


@pytest.fixture
def trained(tmp_path: Path) -> Architecture:
    """The header of a model that was trained on `rows.csv`."""
    file = tmp_path / "rows.csv"
    file.write_text("a,b,y\n" + "".join(f"{row},{row % 7},{row % 3}\n" for row in range(30)))
    data: dict[str, Any] = {"file": str(file), "target": "y", "task": "classification"}
    loaded = memory_mapped_datasets.load(data, SPLIT, tmp_path / "cache")
    return Architecture(Task.CLASSIFICATION, loaded.classes, 2, data, SPLIT, rows_sha256=loaded.sha256)


def test_same_rows_are_loaded_again(trained: Architecture, tmp_path: Path) -> None:
    assert trained.load_rows(tmp_path / "another cache").sha256 == trained.rows_sha256


def test_rows_are_identified_by_content_and_not_by_modification_time(trained: Architecture, tmp_path: Path) -> None:
    assert trained.data is not None
    older = replace(trained, data={**trained.data, "source": "0" * 16})
    assert older.load_rows(tmp_path / "another cache").sha256 == trained.rows_sha256


def test_changed_rows_are_refused(trained: Architecture, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(file.read_text().replace("5,5,2", "5,6,2"))
    with pytest.raises(EnsembleError, match=r"the rows of rows.csv have changed since"):
        trained.load_rows(tmp_path / "cache")


def test_models_are_compatible_when_their_rows_are_equal(trained: Architecture) -> None:
    renamed = replace(trained, data={"name": "mine"})
    assert trained.same_rows(renamed)
    assert not trained.same_rows(replace(trained, rows_sha256="0" * 64))
    assert not replace(trained, rows_sha256=None).same_rows(renamed)


USERS: dict[str, Any] = {
    "build": "train:build", "bundle": "a" * 64, "code_sha256": "b" * 64, "params": {"width": 3}, "shape": [1, 8, 8],
    "dtype": "float32", "outputs": "logits", "classes": ["0", "1"], "data": {"name": "digits"}, "split": SPLIT,
    "rows_sha256": "c" * 64,
}  # fmt: skip
BUILT_IN: dict[str, Any] = {"labels": ["0", "1"], "image": [1, 8, 8], "data": {"name": "digits"}, "split": SPLIT}


def _saved(folder: Path, key: str, header: Any) -> Path:
    save_file({"x": np.zeros(1, np.float32)}, path := folder / "model.safetensors", {key: json.dumps(header)})
    return path


def test_header_written_by_a_trial_is_read(tmp_path: Path) -> None:
    users = read_architecture(_saved(tmp_path, HEADER, USERS))
    assert (users.features, users.bundle, users.is_users) == (64, "a" * 64, True)
    built_in = read_architecture(_saved(tmp_path, "architecture", BUILT_IN))
    assert (built_in.features, built_in.classes, built_in.is_users) == (64, ("0", "1"), False)


@pytest.mark.parametrize(
    "changed",
    [
        {"bundle": "../../else"},
        {"bundle": 3},
        {"bundle": ["a"]},
        {"code_sha256": None},
        {"build": "os.path:../x"},
        {"build": "podium.sweep.runtime.atomic_files:write"},
        {"params": [1]},
        {"shape": [2**40, 2**40]},
        {"shape": [-1]},
        {"shape": [0.5]},
        {"shape": "88"},
        {"dtype": "float32 "},
        {"outputs": "words"},
        {"outputs": {}},
        {"classes": []},
        {"classes": [1]},
        {"data": "digits"},
        {"data": {}},
        {"data": {"name": "digits", "file": 3}},
        {"data": {"file": "x.csv", "features": "a"}},
        {"split": {}},
        {"split": {"split": "0.4", "seed": 0}},
        {"rows_sha256": "../x"},
        {"more": 1},
    ],
    ids=str,
)
def test_forged_header_is_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    with pytest.raises(EnsembleError, match="damaged"):
        read_architecture(_saved(tmp_path, HEADER, USERS | changed))
    changed = {{"shape": "image", "classes": "labels"}.get(key, key): value for key, value in changed.items()}
    if BUILT_IN.keys() & changed.keys():
        with pytest.raises(EnsembleError, match="damaged"):
            read_architecture(_saved(tmp_path, "architecture", BUILT_IN | changed))


@pytest.mark.parametrize("header", [[], 3, None, "x", {}], ids=str)
@pytest.mark.parametrize("key", [HEADER, "architecture"])
def test_invalid_header_is_refused(tmp_path: Path, key: str, header: Any) -> None:
    with pytest.raises(EnsembleError):
        read_architecture(_saved(tmp_path, key, header))
