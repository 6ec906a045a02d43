"""Export to MLflow: a database and a folder, read back by MLflow's client."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

from podium.api.client import mlflow_export
from podium.sweep.values.errors import PodiumError

SWEEP: dict[str, Any] = {
    "id": 3,
    "name": "étude: 1",
    "state": "finished",
    "project": "vision",
    "owner": "",
    "tags": ["keep"],
    "description": "",
    "spec": {"metric": {"name": "val_accuracy", "goal": "maximize"}},
    "best": {"value": 0.75, "values": None},
    "provenance": {"git_commit": "0123abcd", "git_dirty": False, "command": [], "packages_sha256": None},
    "created_at": "2026-01-01T00:00:00+00:00",
    "started_at": "2026-01-01T00:00:01+00:00",
    "ended_at": "2026-01-01T00:01:00+00:00",
}


def trial(number: int, **changes: Any) -> dict[str, Any]:
    """A finished trial as it is exported, changed."""
    plain: dict[str, Any] = {
        "number": number,
        "state": "finished",
        "params": {"lr": 0.25, "学习": "a", "none": None},
        "values": {"val_accuracy": 0.5},
        "metrics": {"val_accuracy": [[0, 0.25], [1, 0.375], [2, 0.5]], "val loss!": [[0, 9.0]]},
        "user_attrs": {"note": "x"},
        "cause": None,
        "message": None,
        "device": "cpu-0",
        "peak_memory_mb": 512.5,
        "peak_gpu_memory_mb": None,
        "created_at": "2026-01-01T00:00:00+00:00",
        "started_at": "2026-01-01T00:00:01+00:00",
        "ended_at": "2026-01-01T00:00:03+00:00",
    }
    return {**plain, **changes}


LONG = [[step, float(step)] for step in range(mlflow_export.MAX_METRICS_PER_BATCH + 1)]
TRIALS = [
    trial(
        0,
        metrics={"val_accuracy": [[0, 0.25], [1, 0.375], [2, 0.5]], "val loss!": [[0, 9.0]], "long": LONG},
        non_finite={"norm": [[3, "nan"]]},
        metric_summaries={"norm": {"non_finite": 1}, "long": {"non_finite": 0}},
    ),
    trial(1, state="failed", values=None, metrics={}, cause="timeout"),
    trial(2, state="running", values=None, metrics={}, ended_at=None),
]


@pytest.mark.filterwarnings("ignore:.*noload.*")
@pytest.mark.parametrize("target", ["mlflow.db", "mlruns"])
def test_sweep_is_parent_run_with_nested_run_for_each_trial(tmp_path: Path, target: str) -> None:
    uri = mlflow_export.tracking_uri(str(tmp_path / target))
    mlflow_export.write(SWEEP, TRIALS, uri, "tries")
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("tries")
    assert experiment is not None
    named = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    parent = named.pop("sweep 3: étude: 1")
    assert (parent.info.status, parent.data.metrics) == ("FINISHED", {"objective/val_accuracy": 0.75})
    assert parent.data.tags["mlflow.source.git.commit"] == "0123abcd"
    assert (parent.data.tags["podium.project"], parent.data.tags["podium.tag.keep"]) == ("vision", "true")
    assert sorted(named) == ["trial 0", "trial 1", "trial 2"]
    assert {run.data.tags["mlflow.parentRunId"] for run in named.values()} == {parent.info.run_id}
    first, failed, running = (named[f"trial {number}"] for number in range(3))
    assert first.data.params == {"lr": "0.25", "学习": "a", "none": "None"}
    peak = {"system/peak_memory_mb": 512.5}
    values = {"val_accuracy": 0.5, "val loss_": 9.0, "long": 1000.0, "objective/val_accuracy": 0.5}
    assert math.isnan(first.data.metrics.pop("norm")) and first.data.tags["podium.non_finite.norm"] == "1"
    assert "podium.non_finite.long" not in first.data.tags
    assert first.data.metrics == values | peak
    assert [p.value for p in client.get_metric_history(first.info.run_id, "val_accuracy")] == [0.25, 0.375, 0.5]
    assert len(client.get_metric_history(first.info.run_id, "long")) == len(LONG)
    assert (failed.info.status, failed.data.tags["podium.cause"]) == ("FAILED", "timeout")
    assert failed.info.end_time - failed.info.start_time == 2000
    assert running.info.status == "RUNNING"
    mlflow_export.write(SWEEP, TRIALS[:1], uri, "tries")
    assert len(client.search_runs([experiment.experiment_id])) == 6, "a second export is a second run"


def test_refusal_of_mlflow_is_reported() -> None:
    with pytest.raises(PodiumError, match=r"^MLflow at nosuch://host refused: "):
        mlflow_export.write(SWEEP, TRIALS, "nosuch://host", "tries")


@pytest.mark.parametrize("uri", ["http://host:5000", "databricks://x", "file:/x", "sqlite:////x"])
def test_uri_is_kept_unchanged(uri: str) -> None:
    assert mlflow_export.tracking_uri(uri) == uri
