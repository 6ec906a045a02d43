"""The main job on a real service: a sweep, both ensembles, predictions, and a member that is slow or dead."""

from __future__ import annotations

import os
import signal
from typing import Any

import httpx2
import numpy as np
import psutil
import pytest

from podium.api.client.ensemble_responses import EnsembleInfo, ReplicaInfo
from podium.api.client.sweep_responses import SweepInfo
from podium.sweep.data import memory_mapped_datasets
from podium.sweep.values.errors import PodiumError
from tests.running_service import RunningService, wait_for

SWEEP: dict[str, Any] = {
    "name": "digits",
    "seed": 3,
    "metric": {"name": "val_accuracy", "goal": "maximize"},
    "parameters": {
        "lr": {"min": 1e-3, "max": 1e-2, "log": True},
        "hidden": {"values": [32, 64]},
        "epochs": {"value": 4},
    },
    "early_terminate": {"type": "asha", "min_iter": 2, "eta": 2},
    "run_cap": 10,
    "program": {"model": "mlp", "data": {"name": "digits"}},
}


@pytest.fixture(scope="module")
def sweep(service: RunningService) -> SweepInfo:
    accepted = service.client.submit(SWEEP)
    return service.client.wait(accepted["id"], 120)


@pytest.fixture(scope="module")
def ensembles(service: RunningService, sweep: SweepInfo) -> dict[str, EnsembleInfo]:
    built = {mode: service.client.build_ensemble(sweep["id"], k=3, mode=mode) for mode in ("in_graph", "between_graph")}
    return {mode: service.client.wait_ensemble(ensemble["id"]) for mode, ensemble in built.items()}


@pytest.fixture(scope="module")
def rows(service: RunningService) -> list[list[float]]:
    data = memory_mapped_datasets.load(
        {"name": "digits", "root": None}, {"split": [0.7, 0.1, 0.1, 0.1], "seed": 0}, service.data.data_cache
    )
    rows: list[list[float]] = data.split("test")[0][:5].astype(float).tolist()
    return rows


def processes(ensemble: EnsembleInfo) -> list[ReplicaInfo]:
    """The one process of each member, as REST shows it."""
    return [replica for member in ensemble["members"] for replica in member["replicas"]]


def test_every_trial_of_sweep_is_accounted_for(service: RunningService, sweep: SweepInfo) -> None:
    assert sweep["state"] == "finished"
    counted = sweep["counts"].get("finished", 0) + sweep["counts"].get("pruned", 0)
    assert counted == SWEEP["run_cap"]
    trials = list(service.client.trials(sweep["id"]))
    assert [trial["number"] for trial in trials] == list(range(len(trials)))


def test_trial_has_curves_log_and_one_attempt_on_one_device(service: RunningService, sweep: SweepInfo) -> None:
    best = service.client.best(sweep["id"])[0]
    trial = service.client.trial(best["trial_id"])
    assert [attempt["state"] for attempt in trial["attempts"]] == ["finished"]
    assert trial["attempts"][0]["visible_devices"] == ""
    curves = service.client.metrics(trial["id"])
    assert [step for step, _ in curves["val_accuracy"]] == [0, 1, 2, 3]
    assert max(value for _, value in curves["val_accuracy"]) == trial["value"]
    assert {file["name"] for file in trial["artifacts"]} == {"model.safetensors", "predictions.safetensors"}
    assert service.client.log(trial["id"]) == ""


def test_both_modes_give_equal_probabilities(service: RunningService, ensembles: dict[str, EnsembleInfo]) -> None:
    probabilities, scores = [], []
    for ensemble in ensembles.values():
        evaluation = service.client.evaluate(ensemble["id"])
        probabilities.append(service.client.probabilities(ensemble["id"], evaluation["id"]))
        assert evaluation["result"] is not None
        scores.append(evaluation["result"])
    assert probabilities[0].shape == (scores[0]["rows"], 10)
    assert np.abs(probabilities[0] - probabilities[1]).max() <= 1e-6
    assert scores[0]["ensemble"] == scores[1]["ensemble"]
    assert scores[0]["members"] == scores[1]["members"]


def test_members_are_placed_one_per_device_next_to_slots(
    service: RunningService, ensembles: dict[str, EnsembleInfo]
) -> None:
    between, in_graph = (processes(ensembles[mode]) for mode in ("between_graph", "in_graph"))
    assert (
        len({process["device_id"] for process in between}) == len({process["device_id"] for process in in_graph}) == 2
    )
    assert len({process["pid"] for process in between}) == 3
    assert len({process["pid"] for process in in_graph}) == 1
    ours = psutil.Process(service.process.pid).nice()
    assert {psutil.Process(process["pid"]).nice() for process in [*between, *in_graph]} == {ours}, "Ray's own is 15"
    assert sum(len(device["member_ids"]) for device in service.client.devices()) == 6


@pytest.mark.parametrize("mode", ["in_graph", "between_graph"])
def test_prediction_reports_every_member(
    service: RunningService, ensembles: dict[str, EnsembleInfo], rows: list[list[float]], mode: str
) -> None:
    answer = service.client.predict(ensembles[mode]["id"], rows)
    assert answer["outcome"] == "ok" and answer["answered"] == 3 and not answer["degraded"]
    assert [member["status"] for member in answer["members"]] == ["ok"] * 3
    assert np.asarray(answer["outputs"]).shape == (5, 10)
    assert np.allclose(np.sum(answer["outputs"], axis=1), 1, atol=1e-5)
    assert len(answer["labels"]) == len(answer["entropy"]) == len(answer["mutual_information"]) == 5


def test_gateway_serves_on_its_own_port_and_requires_token(
    service: RunningService, ensembles: dict[str, EnsembleInfo], rows: list[list[float]]
) -> None:
    import json

    gateway_url = json.loads(service.data.service_file.read_text())["gateway_url"]
    url = f"{gateway_url}/api/v1/ensembles/{ensembles['between_graph']['id']}/predict"
    assert httpx2.post(url, json={"inputs": rows}).status_code == 401
    token = service.data.admin_token.read_text().strip()
    answer = httpx2.post(url, json={"inputs": rows}, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200


def test_invalid_rows_are_refused_before_members_are_called(
    service: RunningService, ensembles: dict[str, EnsembleInfo]
) -> None:
    ensemble_id = ensembles["between_graph"]["id"]
    for bad in ([[1.0, 2.0]], [], [[1.0] * 64, [1.0]]):
        with pytest.raises(PodiumError, match="inputs"):
            service.client.predict(ensemble_id, bad)


def test_stopped_member_is_reported_late_and_others_answer(
    service: RunningService, ensembles: dict[str, EnsembleInfo], rows: list[list[float]]
) -> None:
    ensemble = ensembles["between_graph"]
    slow = psutil.Process(processes(service.client.ensemble(ensemble["id"]))[1]["pid"])
    slow.suspend()
    try:
        wait_for("it has stopped", lambda: slow.status() == psutil.STATUS_STOPPED)
        answer = service.client.predict(ensemble["id"], rows, deadline_ms=500)
    finally:
        slow.resume()
    assert answer["outcome"] == "degraded" and answer["answered"] == 2
    assert [member["status"] for member in answer["members"]] == ["ok", "late", "ok"]
    assert answer["weights"] == pytest.approx([0.5, 0.5])
    wait_for("it answers again", lambda: service.client.predict(ensemble["id"], rows)["outcome"] == "ok")


def test_killed_member_is_restarted_and_no_request_fails(
    service: RunningService, ensembles: dict[str, EnsembleInfo], rows: list[list[float]]
) -> None:
    ensemble_id = ensembles["between_graph"]["id"]
    before = processes(service.client.ensemble(ensemble_id))[2]
    assert before["pid"] is not None
    os.kill(before["pid"], signal.SIGKILL)

    def is_back() -> bool:
        answer = service.client.predict(ensemble_id, rows, deadline_ms=1000)
        assert answer["answered"] >= 2
        return bool(answer["answered"] == 3)

    wait_for("the ensemble is whole again", is_back)
    after = processes(service.client.ensemble(ensemble_id))[2]
    assert after["epoch"] == before["epoch"] + 1 and after["pid"] != before["pid"]


def test_restarted_host_finds_its_members(
    service: RunningService, ensembles: dict[str, EnsembleInfo], rows: list[list[float]]
) -> None:
    ensemble_id = ensembles["in_graph"]["id"]
    before = [process["pid"] for process in processes(service.client.ensemble(ensemble_id))]
    service.kill("host")
    wait_for("the host knows the ensemble", lambda: service.client.ensemble(ensemble_id)["state"] == "ready")
    assert [process["pid"] for process in processes(service.client.ensemble(ensemble_id))] == before
    assert service.client.predict(ensemble_id, rows)["outcome"] == "ok"


def test_killed_gateway_recovers(
    service: RunningService, ensembles: dict[str, EnsembleInfo], rows: list[list[float]]
) -> None:
    service.kill("gateway")
    ensemble_id = ensembles["between_graph"]["id"]
    wait_for("all members answer", lambda: service.client.predict(ensemble_id, rows)["outcome"] == "ok")


def test_too_few_finished_trials_for_k_is_reported(service: RunningService, sweep: SweepInfo) -> None:
    with pytest.raises(PodiumError, match="k is 200, but only"):
        service.client.build_ensemble(sweep["id"], k=200)


def test_stopped_ensemble_releases_its_devices(service: RunningService, sweep: SweepInfo) -> None:
    ensemble = service.client.wait_ensemble(service.client.build_ensemble(sweep["id"], k=1)["id"])
    pid = processes(ensemble)[0]["pid"]
    assert pid is not None
    service.client.stop_ensemble(ensemble["id"])
    wait_for("its process is gone", lambda: not psutil.pid_exists(pid))
    stopped = service.client.ensemble(ensemble["id"])
    assert stopped["state"] == "stopped"

    def holds_a_device() -> bool:
        held = [member for device in service.client.devices() for member in device["member_ids"]]
        return ensemble["members"][0]["id"] in held

    wait_for("its device is free", lambda: not holds_a_device())  # written after the process was ended
