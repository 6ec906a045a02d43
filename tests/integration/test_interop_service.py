"""Export, import and warm start of studies on a real service, with a client that survives the api's death."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import optuna
import pytest

from podium.db.stores.trial_writer import IMPORTED_FROM
from tests.running_service import AuditedService, function_sweep, podium

CODE = """
import time

def objective(trial):
    for step in range(3):
        time.sleep(0.05)
        trial.report(trial.params["x"] + step, step)
    return trial.params["x"]
"""


@pytest.mark.slow
def test_studies_are_exported_and_imported_while_trials_run(service: AuditedService, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(CODE)
    client, data_dir = service.client, str(service.data.root)
    first = client.submit(function_sweep(code, "train:objective", name="interchanged"))["id"]
    client.wait(first, 60)
    exported = podium("sweep", "export", str(first), "--to", str(tmp_path / "study.db"), "--data-dir", data_dir)
    assert exported.returncode == 0, exported.stderr
    study = optuna.load_study(study_name="interchanged", storage=f"sqlite:///{tmp_path}/study.db")
    assert [t.intermediate_values[2] for t in study.trials] == [t.params["x"] + 2 for t in study.trials]

    running = client.submit(function_sweep(code, "train:objective", name="interchanged", run_cap=30))["id"]
    done = podium("sweep", "import", str(tmp_path / "study.db"), "--json", "--data-dir", data_dir)
    assert done.returncode == 0, done.stderr
    imported = json.loads(done.stdout)
    assert (imported["state"], imported["counts"]) == ("finished", {"finished": 6})
    os.kill(service.pid("api"), signal.SIGKILL)
    warm = function_sweep(
        code, "train:objective", name="interchanged", method="tpe", warm_start=[imported["id"]], run_cap=3
    )
    sweep = client.submit(warm)
    assert sweep["warm_start"] == {"trials": 6, "dropped": 0, "why": [], "left_out": 0}
    for sweep_id in (running, sweep["id"]):
        assert client.wait(sweep_id, 90)["state"] == "finished"
    assert all(trial["id"] < IMPORTED_FROM for trial in client.trials(sweep["id"]))
    assert len([found for found in client.sweeps() if found["name"] == "interchanged"]) == 4
    assert client.open_sweep(running).to_pandas()["value"].notna().all()
