"""The rows that a model was trained beside: the same ones are found again, others are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ensemble.spec import Task
from ensemble.trial_files import Architecture
from sweep import datasets
from sweep.errors import EnsembleError

SPLIT = {"split": [0.4, 0.2, 0.2, 0.2], "seed": 0}


@pytest.fixture
def trained(tmp_path: Path) -> Architecture:
    """What the header of a model says that learned from `rows.csv`."""
    file = tmp_path / "rows.csv"
    file.write_text("a,b,y\n" + "".join(f"{row},{row % 7},{row % 3}\n" for row in range(30)))
    data: dict[str, Any] = {"file": str(file), "target": "y", "task": "classification"}
    loaded = datasets.load(data, SPLIT, tmp_path / "cache")
    return Architecture(Task.CLASSIFICATION, loaded.classes, 2, data, SPLIT, rows_sha256=loaded.sha256)


def test_the_same_rows_are_found_again(trained: Architecture, tmp_path: Path) -> None:
    assert trained.load_rows(tmp_path / "another cache").sha256 == trained.rows_sha256


def test_rows_are_told_by_what_they_are_and_not_by_when_they_were_written(
    trained: Architecture, tmp_path: Path
) -> None:
    assert trained.data is not None
    older = replace(trained, data={**trained.data, "source": "0" * 16})
    assert older.load_rows(tmp_path / "another cache").sha256 == trained.rows_sha256


def test_other_rows_are_refused(trained: Architecture, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(file.read_text().replace("5,5,2", "5,6,2"))
    with pytest.raises(EnsembleError, match=r"the rows of rows.csv are not those that the trials were trained beside"):
        trained.load_rows(tmp_path / "cache")


def test_models_go_together_by_their_rows(trained: Architecture) -> None:
    renamed = replace(trained, data={"name": "mine"})
    assert trained.same_rows(renamed)
    assert not trained.same_rows(replace(trained, rows_sha256="0" * 64))
    assert not replace(trained, rows_sha256=None).same_rows(renamed)
