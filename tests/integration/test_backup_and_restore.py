"""A real service, backed up while it runs and restored elsewhere: the doctor finds nothing, the ensemble answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from podium.api.client.client import Client
from podium.sweep.runtime.layout import DataDirectory
from tests.doctor import assert_no_breaches
from tests.running_service import RunningService, podium
from tests.specs import builtin_document

ROWS = np.linspace(0, 1, 128, dtype=np.float32).reshape(2, 64)
TRIALS = 4


@pytest.fixture(scope="module")
def answered(service: RunningService) -> tuple[int, int]:
    """A finished sweep, and an ensemble of it that answers."""
    parameters = {"lr": {"min": 1e-3, "max": 1e-2, "log": True}, "epochs": {"value": 1}}
    sweep = service.client.submit(builtin_document(name="backed-up", run_cap=TRIALS, parameters=parameters))
    assert service.client.wait(sweep["id"], 180)["state"] == "finished"
    built = service.client.build_ensemble(sweep["id"], k=2, name="backed-up")
    service.client.wait_ensemble(built["id"], 180)
    return sweep["id"], built["id"]


def _predictions(client: Client, ensemble_id: int) -> object:
    return client.predict(ensemble_id, ROWS)["outputs"]


@pytest.mark.slow
def test_restored_service_serves_its_trials_and_ensembles(
    service: RunningService, answered: tuple[int, int], tmp_path: Path
) -> None:
    sweep_id, ensemble_id = answered
    running = service.client.submit(builtin_document(name="still-running", run_cap=50))
    backup = podium("backup", str(tmp_path / "backup"), "--data-dir", str(service.data.root), "--json")
    assert backup.returncode == 0, backup.stderr
    again = podium("backup", str(tmp_path / "backup"), "--data-dir", str(service.data.root), "--json")
    second = json.loads(again.stdout)
    assert second["copied_files"] < second["files"], "files of the first backup are copied again"
    wanted = _predictions(service.client, ensemble_id)
    values = [trial["value"] for trial in service.client.trials(sweep_id)]
    service.client.cancel_sweep(running["id"])

    data = DataDirectory(tmp_path / "elsewhere" / "data")
    restored = podium("restore", str(tmp_path / "backup"), "--data-dir", str(data.root))
    assert restored.returncode == 0, restored.stderr
    assert_no_breaches(data)
    with RunningService(data.root) as other:
        other.client.wait_ensemble(ensemble_id, 180)
        assert _predictions(other.client, ensemble_id) == wanted
        assert [trial["value"] for trial in other.client.trials(sweep_id)] == values
        other.client.cancel_sweep(running["id"])
        other.client.wait(running["id"], 180)
    assert_no_breaches(data)
