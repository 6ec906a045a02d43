"""Budget and retention of a sweep, also when its scheduler is killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.api.client.client import Client
from podium.sweep.values.errors import PodiumError
from tests.running_service import AuditedService, function_sweep, wait_for
from tests.specs import builtin_document

CODE = """
import torch

def objective(trial):
    trial.save_checkpoint(torch.nn.Linear(2, 1), epoch=0)
    return trial.params["x"]
"""


def left(service: AuditedService, sweep_id: int, name: str) -> list[int]:
    """The numbers of the trials with such a file."""
    return sorted(int(path.parts[-3]) for path in service.data.trials.glob(f"{sweep_id}/*/*/{name}"))


def wait_for_files(service: AuditedService, sweep_id: int, wanted: list[int]) -> None:
    wait_for(f"{wanted} are left", lambda: left(service, sweep_id, "checkpoint.safetensors") == wanted)


def best(client: Client, sweep_id: int, k: int) -> list[int]:
    return sorted(trial["number"] for trial in client.best(sweep_id, k))


@pytest.mark.slow
def test_plateau_ends_sweep_and_best_models_are_kept(service: AuditedService) -> None:
    client = service.client
    document: dict[str, Any] = builtin_document(
        parameters={"lr": {"min": 1e-4, "max": 0.1, "log": True}, "epochs": {"value": 1}},
        run_cap=200, keep={"models": 2}, budget={"plateau": {"trials": 4, "min_delta": 1}},
    )  # fmt: skip
    sweep_id = client.submit(document)["id"]
    done = client.wait(sweep_id, 120)
    assert (done["state"], done["reason"]) == ("finished", "no better value by more than 1 in 4 trials")
    counted = done["counts"]["finished"]
    assert 5 <= counted <= 6
    assert done["budget"] is not None
    assert done["budget"]["plateau"] == {"used": counted - 1, "allowed": 4, "min_delta": 1.0}
    assert done["budget"]["device_s"]["used"] > 0

    with pytest.raises(PodiumError, match=r"raise budget\.plateau\.trials above"):
        client.extend_sweep(sweep_id, 201)
    client.extend_sweep(sweep_id, budget={"plateau": {"trials": 14, "min_delta": 1.0}})
    wait_for("the extended sweep continues", lambda: client.sweep(sweep_id)["counts"].get("finished", 0) > counted + 2)
    service.kill("scheduler")
    assert client.wait(sweep_id, 120)["counts"]["finished"] >= 15
    wait_for("two models are kept", lambda: left(service, sweep_id, "model.safetensors") == best(client, sweep_id, 2))
    assert len(left(service, sweep_id, "predictions.safetensors")) == client.sweep(sweep_id)["counts"]["finished"]

    kept = best(client, sweep_id, 2)
    gone = next(trial for trial in client.trials(sweep_id) if trial["number"] not in kept)
    with pytest.raises(PodiumError, match=r"its weights were not kept: keep\.models is 2"):
        client.build_ensemble(trial_ids=[gone["id"]], select="explicit")
    ensemble = client.build_ensemble(sweep_id, k=2, select="greedy")
    assert client.wait_ensemble(ensemble["id"])["state"] == "ready"


def test_best_checkpoint_is_kept(service: AuditedService, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(CODE)
    client = service.client
    for keep in ("none", "best", "all"):
        document = function_sweep(code, "train:objective", run_cap=5, keep={"checkpoints": keep})
        sweep_id = client.submit(document)["id"]
        assert client.wait(sweep_id, 60)["state"] == "finished"
        wanted = {"none": [], "best": best(client, sweep_id, 1), "all": [0, 1, 2, 3, 4]}[keep]
        wait_for_files(service, sweep_id, wanted)
