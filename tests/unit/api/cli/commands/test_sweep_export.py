"""`podium sweep export` and `import`: each format contains the sweep, and each failure has a clear message."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import optuna
import pyarrow.parquet
import pytest
from optuna.trial import create_trial

from podium.api.client import mlflow_export, tensorboard_export
from podium.api.client.client import Client
from podium.api.client.sweep_export import ExportFormat, format_of
from podium.sweep.values.errors import InvalidSpecError
from podium.sweep.values.failure_causes import Cause
from tests.commands import Podium
from tests.service_rig import ServiceRig


@pytest.fixture
def served(service: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> ServiceRig:
    """A service that every command finds, with a sweep of two finished trials and a failed one."""

    def client(_: object) -> Client:
        return Client("http://testserver", "token", http=service.client())

    monkeypatch.setattr(Client, "of", client)
    parameters = {"lr": {"min": 0.0, "max": 1.0}, "学习": {"values": ["a", None]}}
    sweep_id = service.sweep(name="étude: 1", parameters=parameters, program={"function": "train:objective"})
    for number, value in enumerate((0.5, 0.75)):
        trial_id = service.trial(sweep_id, number, value, params={"lr": 0.25, "学习": "a"})
        service.points(trial_id, "val_accuracy", 0.25, value)
        service.points(trial_id, "val loss!", 9.0)
    service.trial(sweep_id, 2, None, params={"lr": 0.5, "学习": None}, cause=Cause.TIMEOUT)
    service.end_sweep(sweep_id)
    return service


def test_tables_are_complete_files(podium: Podium, served: ServiceRig, tmp_path: Path) -> None:
    files = {suffix: tmp_path / f"trials.{suffix}" for suffix in ("csv", "parquet", "jsonl")}
    for file in files.values():
        assert podium("sweep", "export", 1, "--to", file) == (0, f"exported 3 trials of sweep 1 to {file}\n", "")
    assert [row["state"] for row in csv.DictReader(files["csv"].read_text().splitlines())] == [
        "finished",
        "finished",
        "failed",
    ]
    assert pyarrow.parquet.read_table(files["parquet"])["params_lr"].to_pylist() == [0.25, 0.25, 0.5]
    lines = [json.loads(line) for line in files["jsonl"].read_text().splitlines()]
    assert lines[1]["metrics"]["val_accuracy"] == [[0, 0.25], [1, 0.75]]
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]


def test_study_is_exported_and_imported_again(podium: Podium, served: ServiceRig, tmp_path: Path) -> None:
    file = tmp_path / "study.db"
    code, out, err = podium("sweep", "export", 1, "--to", file, "--study", "one")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"exported 3 trials of sweep 1 to {file}", f"view them with: optuna-dashboard sqlite:///{file}",
    ]  # fmt: skip
    study = optuna.load_study(study_name="one", storage=f"sqlite:///{file}")
    assert (study.best_value, [trial.state.name for trial in study.trials]) == (0.75, ["COMPLETE", "COMPLETE", "FAIL"])
    code, out, err = podium("sweep", "import", file, "--name", "again")
    assert (code, err) == (0, "")
    assert out.startswith("sweep 2 'again' has 3 trials; podium sweep show 2, or warm_start: [2]")
    assert podium("sweep", "show", 2)[0] == 0
    assert podium("sweep", "import", file, "--name", "again")[1].startswith("sweep 2 "), (
        "the same study is imported once"
    )


def test_storage_url_implies_the_study_format(podium: Podium, served: ServiceRig, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/x.anything"
    code, out, _ = podium("sweep", "export", 1, "--to", url, "--json")
    assert (code, json.loads(out)["format"]) == (0, "optuna")
    assert optuna.get_all_study_names(url) == ["étude: 1"]
    code, out, _ = podium("sweep", "import", url, "--json")
    assert (code, json.loads(out)["left_out"], json.loads(out)["state"]) == (0, [], "finished")


def test_omitted_data_are_reported(podium: Podium, served: ServiceRig, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/theirs.db"
    study = optuna.create_study(storage=url, study_name="theirs")
    study.add_trial(create_trial(value=float("inf")))
    code, out, _ = podium("sweep", "import", url)
    assert (code, out.splitlines()[1:]) == (0, ["1 trials with an infinite value are imported as failed"])


BAD: list[tuple[tuple[str, ...], str]] = [
    (("export", "1", "--to", "x"), "--to: 'x' implies no format; add --format with one of csv, parquet"),
    (("export", "1", "--to", "x", "--format", "xml"), "--format: unknown format 'xml'; use one of csv"),
    (("export", "1", "--to", "/nowhere/x.csv"), "--to: there is no folder /nowhere"),
    (("export", "1", "--to", "/nowhere/x.db"), "--to: there is no folder /nowhere"),
    (
        ("export", "1", "--to", "nosuch://me:secret@host/db"),
        "cannot use nosuch://me:***@host/db as an Optuna storage",
    ),
    (("import", "/nowhere/x.db"), "cannot read /nowhere/x.db: No such file"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_invalid_target_exits_2(podium: Podium, served: ServiceRig, arguments: tuple[str, ...], words: str) -> None:
    code, out, err = podium("sweep", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err and "secret" not in err


def test_unknown_sweep_leaves_no_file(podium: Podium, served: ServiceRig, tmp_path: Path) -> None:
    code, _, err = podium("sweep", "export", 9, "--to", tmp_path / "x.csv")
    assert (code, err, (tmp_path / "x.csv").exists()) == (1, "there is no sweep 9\n", False)


@pytest.mark.parametrize(
    ("target", "named", "found"),
    [
        ("a/b.CSV", None, ExportFormat.CSV),
        ("postgresql://host/db", None, ExportFormat.OPTUNA),
        ("study.journal", None, ExportFormat.OPTUNA),
        ("http://host:5000", ExportFormat.MLFLOW, ExportFormat.MLFLOW),
    ],
)
def test_format_is_inferred_from_the_target_unless_given(
    target: str, named: ExportFormat | None, found: ExportFormat
) -> None:
    assert format_of(target, named) is found


# Packages.


@pytest.mark.parametrize("names", [("tensorboard", "x"), ("mlflow", "x"), ("parquet", "x.parquet")])
def test_missing_package_is_named(
    podium: Podium, served: ServiceRig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, names: tuple[str, str]
) -> None:
    for package in ("tensorboardX", "mlflow", "pyarrow"):
        monkeypatch.setitem(__import__("sys").modules, package, None)
    code, _, err = podium("sweep", "export", 1, "--to", tmp_path / names[1], "--format", names[0])
    assert (code, f"pip install 'podium[{names[0]}]'" in err) == (1, True)


def test_modules_import_optional_packages_only_to_write() -> None:
    assert not hasattr(tensorboard_export, "FileWriter") and not hasattr(mlflow_export, "MlflowClient")
    with pytest.raises(InvalidSpecError):
        format_of("folder", None)
