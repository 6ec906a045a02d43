"""The block `program.data`: valid combinations, and what is derived from the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.sweep.data import memory_mapped_datasets
from podium.sweep.data.dataset_conversion import prepare
from podium.sweep.data.reader_interface import ReadLimits
from podium.sweep.spec.program import BuiltinProgram
from podium.sweep.spec.sweep_spec import SweepSpec, parse_spec, spec_from_json
from podium.sweep.specfile.data_header_check import with_data_state
from podium.sweep.values.errors import ChangedDataError, InvalidSpecError
from tests.specs import builtin_document, document

VALUES: dict[str, Any] = {"metric": {"name": "val_rmse", "goal": "minimize"}}


def of(data: dict[str, Any], model: str = "mlp", **changes: Any) -> SweepSpec:
    return parse_spec(builtin_document(program={"model": model, "data": data}, **changes))


BAD: list[tuple[str, dict[str, Any], str, str]] = [
    ("nothing", {}, "name", "built-in data sets: diabetes, digits"),
    ("two sources", {"file": "a.csv", "idx": "b", "target": "y"}, "idx", "mutually exclusive"),
    ("no target", {"file": "a.csv"}, "target", "is required with file"),
    ("a target of digits", {"name": "digits", "target": "y"}, "target", "only valid with file"),
    ("features of images", {"idx": "folder", "features": ["a"]}, "features", "only valid with file"),
    ("a root of a file", {"file": "a.csv", "target": "y", "root": "r"}, "root", "only valid with name: mnist"),
    ("another task", {"name": "digits", "task": "regression"}, "task", "digits is a classification data set"),
    ("no such task", {"file": "a.csv", "target": "y", "task": "ranking"}, "task", "regression"),
    ("unknown name", {"name": "digit"}, "name", "did you mean 'digits'"),
]


@pytest.mark.parametrize(("data", "key", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_conflicting_keys_are_rejected(data: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(InvalidSpecError, match=message) as caught:
        of(data)
    assert caught.value.problems[0].location == ("program", "data", key)


def test_metric_must_match_task() -> None:
    file = {"file": "a.csv", "target": "y"}
    of(file), of(file, **VALUES)
    of({**file, "task": "regression"}, **VALUES)
    with pytest.raises(InvalidSpecError, match=r"built-in models report val_rmse, val_mae, val_loss on a.csv; got"):
        of({**file, "task": "regression"})


@pytest.mark.parametrize("file", ["a.csv", "a.parquet"])
def test_cnn_requires_images(file: str) -> None:
    with pytest.raises(InvalidSpecError, match="cnn needs images, but mine is tabular; use mlp"):
        of({"file": file, "target": "y", "name": "mine"}, model="cnn")


def test_folds_are_at_least_two_and_require_data() -> None:
    assert of({"name": "digits"}, validation={"folds": 5}).validation.folds == 5
    with pytest.raises(InvalidSpecError, match=r"must be 0 .no cross-validation. or at least 2"):
        of({"name": "digits"}, validation={"folds": 1})
    with pytest.raises(InvalidSpecError, match=r"validation.folds: only valid with program.data"):
        parse_spec(document(validation={"folds": 5}))
    program = {"function": "train:objective", "data": {"name": "digits"}}
    assert parse_spec(document(program=program, validation={"folds": 5})).validation.folds == 5


# What is derived from the files.


@pytest.fixture
def file(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "rows.csv").write_text("a,y\n1,0.5\n2,1.5\n")
    return {"file": str(tmp_path / "rows.csv"), "target": "y"}


def test_task_is_recorded_in_spec(file: dict[str, Any]) -> None:
    spec = with_data_state(of(file, **VALUES))
    assert isinstance(spec.program, BuiltinProgram) and spec.program.data.task == "regression"
    assert spec_from_json(spec.to_json()) == spec
    assert with_data_state(spec) is spec


def test_file_state_is_recorded_in_spec(file: dict[str, Any]) -> None:
    spec = with_data_state(of({**file, "source": "somebody's"}, **VALUES))
    assert isinstance(spec.program, BuiltinProgram) and len(spec.program.data.source or "") == 16
    with Path(file["file"]).open("a") as rows:
        rows.write("3,2.5\n")
    assert with_data_state(spec) != spec
    built_in = of({"name": "digits"})
    assert with_data_state(built_in) is built_in


def test_trials_use_rows_of_sweep_start(file: dict[str, Any], tmp_path: Path) -> None:
    split = {"split": [0.25, 0.25, 0.25, 0.25], "seed": 0}
    path = Path(file["file"])
    path.write_text("a,y\n" + "1,0.5\n" * 20)
    accepted = with_data_state(of(file, **VALUES)).program.model_dump()["data"]
    first = memory_mapped_datasets.load(accepted, split, tmp_path / "cache")
    path.write_text("a,y\n" + "2,0.75\n" * 30)
    assert memory_mapped_datasets.load(accepted, split, tmp_path / "cache").sha256 == first.sha256
    with pytest.raises(ChangedDataError, match=r"rows.csv has changed since the sweep was accepted"):
        memory_mapped_datasets.load(accepted, split, tmp_path / "another cache")
    path.unlink()
    assert len(memory_mapped_datasets.load(accepted, split, tmp_path / "cache").inputs) == 20


def test_files_changed_while_read_are_rejected(
    file: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(file["file"])
    path.write_text("a,y\n" + "1,0.5\n" * 20)
    accepted = with_data_state(of(file, **VALUES)).program.model_dump()["data"]

    def prepared(data: Any, folder: Path, limits: ReadLimits) -> None:
        prepare(data, folder, limits)
        path.write_text("a,y\n" + "2,0.75\n" * 30)

    monkeypatch.setattr(memory_mapped_datasets, "prepare", prepared)
    with pytest.raises(ChangedDataError):
        memory_mapped_datasets.load(accepted, {"split": [0.25, 0.25, 0.25, 0.25], "seed": 0}, tmp_path / "cache")


def test_derived_task_must_match_metric(file: dict[str, Any]) -> None:
    with pytest.raises(InvalidSpecError, match="built-in models report val_rmse"):
        with_data_state(of(file))


def test_function_program_has_data(file: dict[str, Any]) -> None:
    program = {"function": "train:objective", "data": file}
    found = with_data_state(parse_spec(document(program=program)))
    assert found.program.model_dump()["data"]["task"] == "regression"


def test_data_error_has_its_key(file: dict[str, Any], tmp_path: Path) -> None:
    for change, key in (({"target": "z"}, "target"), ({"features": ["b"]}, "features"), ({"file": "none.csv"}, "file")):
        with pytest.raises(InvalidSpecError) as caught:
            with_data_state(of({**file, **change}, **VALUES))
        assert caught.value.problems[0].location == ("program", "data", key)


def test_cnn_on_npz_columns_is_rejected(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", x=np.ones((9, 4)), y=np.arange(9) % 2)
    data = {"file": str(tmp_path / "rows.npz"), "target": "y", "task": "classification"}
    with pytest.raises(InvalidSpecError, match=r"cnn needs images, but .* is tabular; use mlp"):
        with_data_state(of(data, model="cnn"))
