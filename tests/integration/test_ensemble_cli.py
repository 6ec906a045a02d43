"""`podium sweep run` with an `ensemble:` block, and `podium ensemble`, on a real service."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from podium.sweep.data import memory_mapped_datasets
from tests.running_service import RunningService, podium

SPLIT = [0.5, 0.2, 0.1, 0.2]
SWEEP: dict[str, Any] = {
    "name": "digits-by-command",
    "method": "random",
    "metric": {"name": "val_accuracy", "goal": "maximize"},
    "parameters": {"lr": {"min": 1e-3, "max": 1e-2, "log": True}, "epochs": {"value": 3}},
    "run_cap": 5,
    "program": {"model": "mlp", "data": {"name": "digits"}},
    "validation": {"split": SPLIT},
    "ensemble": {"k": 3, "deadline_ms": 5000},
}
Run = Callable[..., str]


@pytest.fixture(scope="module")
def run(service: RunningService) -> Run:
    """Runs a command on the service; returns what it printed."""

    def command(*arguments: str, code: int = 0) -> str:
        done = podium(*arguments, "--data-dir", str(service.data.root))
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    return command


@pytest.fixture(scope="module")
def sweep(run: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A finished sweep, with the ensemble that its file asks for."""
    file = tmp_path_factory.mktemp("sweep") / "sweep.json"
    file.write_text(json.dumps(SWEEP))
    found: dict[str, Any] = json.loads(run("sweep", "run", str(file), "--json"))
    return found


@pytest.fixture(scope="module")
def rows(service: RunningService, sweep: dict[str, Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows of the test split, and their classes."""
    data = memory_mapped_datasets.load(
        {"name": "digits", "root": None}, {"split": SPLIT, "seed": 0}, service.data.data_cache
    )
    inputs, targets = data.split("test")
    return inputs[:40], targets[:40]


def test_ensemble_of_block_is_ready_when_run_ends(run: Run, sweep: dict[str, Any]) -> None:
    assert sweep["state"] == "finished"
    assert (sweep["ensemble"]["state"], sweep["ensemble"]["id"]) == ("ready", sweep["ensemble_id"])
    assert len(sweep["ensemble"]["members"]) == 3
    shown = run("sweep", "show", str(sweep["id"]))
    assert f"ensemble {sweep['ensemble_id']} '{sweep['ensemble']['name']}': ready" in shown


def test_run_exits_with_1_and_reason_when_ensemble_cannot_be_built(
    run: Run, sweep: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "sweep.json"
    taken = sweep["ensemble"]["name"]
    file.write_text(json.dumps({**SWEEP, "name": "no-ensemble", "run_cap": 1, "ensemble": {"k": 1, "name": taken}}))
    done = run("sweep", "run", str(file), code=1)
    assert done == ""  # the sweep itself finished: its record has the reason
    listed = json.loads(run("sweep", "list", "--json"))
    (failed,) = [found["id"] for found in listed if found["name"] == "no-ensemble"]
    expected = f"no ensemble: an ensemble '{taken}' already exists; choose another name"
    assert expected in run("sweep", "show", str(failed))


def test_ensemble_is_evaluated_on_split_and_custom_rows(
    run: Run, sweep: dict[str, Any], rows: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    by_name, by_id = sweep["ensemble"]["name"], str(sweep["ensemble_id"])
    said = run("ensemble", "evaluate", by_name)
    for words in ("on 359 rows (test)", "Ensemble minus best single network", "McNemar's p", "worst accuracy"):
        assert words in said
    np.save(tmp_path / "x.npy", rows[0])
    np.save(tmp_path / "y.npy", rows[1])
    files = ("--inputs", str(tmp_path / "x.npy"), "--targets", str(tmp_path / "y.npy"))
    own = run("ensemble", "evaluate", by_id, *files, "--json")
    assert json.loads(own)["result"]["rows"] == 40
    assert "selected on this split" in run("ensemble", "evaluate", by_id, "--split", "validation", code=1)


def test_predict_prints_output_and_member_statuses(
    run: Run, sweep: dict[str, Any], rows: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", rows[0])
    said = run("ensemble", "predict", sweep["ensemble"]["name"], "--input", str(tmp_path / "x.npy"))
    assert "ok: 3 of 3 members" in said
    labels = [line.split()[1] for line in said.splitlines()[1:41]]
    assert np.mean(np.asarray(labels, int) == rows[1]) > 0.7


def test_in_graph_ensemble_is_built_stopped_started_and_retired(run: Run, sweep: dict[str, Any]) -> None:
    said = run(
        "ensemble", "build", str(sweep["id"]), "-k", "2", "--select", "greedy", "--mode", "in_graph", "--name", "whole"
    )
    assert "'whole': ready" in said
    assert "selection: greedy of 5 finished trials" in said
    assert "whole" in run("ensemble", "list")
    assert "stopped" in run("ensemble", "stop", "whole")
    assert "building" in run("ensemble", "start", "whole")
    assert "retired" in run("ensemble", "retire", "whole")
    assert "is retired" in run("ensemble", "start", "whole", code=1)
