"""Functions on a real service: `trial.study`, Ray Tune, constraints, enqueued values, artifacts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.running_service import AuditedService, function_sweep

CODE = """
import optuna


def objective(trial):
    x = trial.suggest_float("x", 0.0, 1.0)
    study = trial.study
    assert study.study_name == "studied" and study.direction is optuna.study.StudyDirection.MAXIMIZE
    done = study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))
    assert all(t.user_attrs["x"] == t.params["x"] == t.value for t in done if not t.constraints["0"] > 0)
    if trial.number == 0:
        try:
            study.best_value
        except ValueError as error:
            print(error)
    feasible = [t for t in done if t.constraints["0"] <= 0]
    if feasible:
        best = study.best_trial  # each access reads again: another trial may have finished meanwhile
        assert best.value >= max(t.value for t in feasible) and study.best_value >= best.value
        assert best.intermediate_values == {0: best.value / 2}
    trial.report(x / 2, 0)
    trial.set_user_attr("x", x)
    (trial.dir / "note.txt").write_text(str(x))
    trial.save_artifact("note.txt")
    if trial.number == 5:
        study.stop()
    return x


def constraints(trial):
    return [trial.user_attrs["x"] - 0.75]
"""
TUNED = """
import json
import os
import tempfile
from pathlib import Path

from ray import tune


def train(config):
    start = 0
    checkpoint = tune.get_checkpoint()
    if checkpoint:
        start = json.loads(Path(checkpoint.path, "state.json").read_text())["step"] + 1
    for step in range(start, 4):
        if step == 2 and start == 0:
            os._exit(3)
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "state.json").write_text(json.dumps({"step": step}))
            tune.report({"score": config["x"] + step}, checkpoint=tune.Checkpoint.from_directory(folder))
"""


def _submit(service: AuditedService, folder: Path, code: str, function: str, **changes: Any) -> int:
    (folder / "train.py").write_text(code)
    return int(service.client.submit(function_sweep(folder, f"train:{function}", name="studied", **changes))["id"])


def test_trials_read_and_stop_their_study(service: AuditedService, tmp_path: Path) -> None:
    program = {"function": "train:objective", "code": str(tmp_path), "constraints": "train:constraints"}
    enqueue = [{"x": 0.875}, {"x": 0.5, "y": 1}]
    sweep_id = _submit(
        service, tmp_path, CODE, "objective", program=program, enqueue=enqueue, parameters={}, run_cap=30
    )
    done = service.client.wait(sweep_id, 180)
    trials = list(service.client.trials(sweep_id))
    failed = [service.client.trial(t["id"])["attempts"][-1]["message"] for t in trials if t["state"] == "failed"]
    assert (done["state"], done["reason"], failed) == ("finished", "trial 5 called study.stop()", [])
    finished = [trial for trial in trials if trial["state"] == "finished"]
    assert 6 <= len(finished) <= 8
    assert [trial["params"]["x"] for trial in trials[:2]] == [0.875, 0.5]
    assert trials[0]["constraints"] == {"0": 0.125}
    (best,) = service.client.best(sweep_id)
    feasible = [trial for trial in finished if trial["constraints"]["0"] <= 0]
    assert best["value"] == max(trial["value"] or 0.0 for trial in feasible) < 0.75
    assert done["best"] is not None and done["best"]["number"] == best["number"]
    unused = service.client.trial(trials[1]["id"])
    assert unused["attempts"][-1]["message"] == "enqueued, but not suggested by the code, so without effect: y"
    assert [file["name"] for file in unused["artifacts"]] == ["artifacts/note.txt"]
    kept = service.client.download(unused["id"], "artifacts/note.txt", tmp_path / "note.txt")
    assert kept.read_text() == "0.5"


def test_unchanged_ray_tune_function_runs_and_resumes(service: AuditedService, tmp_path: Path) -> None:
    pytest.importorskip("ray.tune", exc_type=ImportError, reason="ray[tune] is not installed")
    sweep_id = _submit(service, tmp_path, TUNED, "train", run_cap=2, retries={"user": 1})
    done = service.client.wait(sweep_id, 180)
    trials = list(service.client.trials(sweep_id))
    assert (done["state"], [trial["state"] for trial in trials]) == ("finished", ["finished", "finished"]), done
    for trial in trials:
        assert trial["value"] == trial["params"]["x"] + 3 and trial["attempt"] == 2
        steps = [step for step, _ in service.client.metrics(trial["id"])["score"]]
        assert steps == [1, 2, 3, 4]
