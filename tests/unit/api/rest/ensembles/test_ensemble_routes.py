"""Ensembles over REST: built from the best trials, listed, evaluated, stopped."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from starlette.testclient import TestClient

from podium.db.stores import ensemble_reader, ensemble_writer, member_replicas
from podium.ensemble.scoring.ensemble_and_member_evaluation import evaluate
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Rule, Task
from podium.ensemble.values.ensemble_states import EnsembleState, MemberState
from podium.sweep.runtime.component_startup_and_heartbeats import on_wake
from podium.sweep.runtime.safe_file_reads import display_path
from tests.service_rig import AT, ServiceRig, assert_problem

URL = "/api/v1/ensembles"


def measured() -> dict[str, Any]:
    """The evaluation that the host stores, of two members on four rows."""
    said = np.asarray([[[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]]] * 2, np.float32)
    found = evaluate(
        "test", said, np.asarray([0, 1, 1, 1]), Combination(Task.CLASSIFICATION, Rule.MEAN, (0.5, 0.5)), quorum=1
    )
    return {"mode": "between_graph", "version": 1, **found.to_dict()}


MEASURED = {**measured(), "precisions": []}


@pytest.fixture
def sweep_id(service: ServiceRig) -> int:
    """A sweep whose trials 0 to 4 finished; trial 3, the best, saved no model."""
    found = service.sweep()
    for number, value in enumerate([0.5, 0.7, 0.7, 0.9, 0.2]):
        service.trial(found, number, value, model=number != 3)
    return found


@pytest.fixture
def ensemble_id(client: TestClient, sweep_id: int) -> int:
    """An ensemble of trials 1, 2 and 0, in state `building`."""
    built: int = client.post(URL, json={"sweep_id": sweep_id}).json()["id"]
    return built


@pytest.fixture
def ready_id(service: ServiceRig, ensemble_id: int) -> int:
    """The same ensemble, in state `ready`."""
    service.ready(ensemble_id, ["unix:/nowhere"] * 3)
    return ensemble_id


def test_best_trials_with_a_model_become_members(client: TestClient, sweep_id: int) -> None:
    answer = client.post(URL, json={"sweep_id": sweep_id, "k": 3})
    assert (answer.status_code, answer.headers["location"]) == (201, f"{URL}/1")
    ensemble = answer.json()
    assert [member["trial_number"] for member in ensemble["members"]] == [1, 2, 0]
    assert [member["position"] for member in ensemble["members"]] == [0, 1, 2]
    assert sum(member["weight"] for member in ensemble["members"]) == pytest.approx(1)
    assert {member["state"] for member in ensemble["members"]} == {"starting"}
    assert (ensemble["state"], ensemble["mode"], ensemble["quorum"]) == ("building", "between_graph", 2)
    assert (ensemble["deadline_ms"], ensemble["version"], ensemble["sweep_id"]) == (1000.0, 1, sweep_id)
    assert client.get(f"{URL}/1").json() == ensemble


def test_names_are_those_of_the_sweep_with_a_unique_number(client: TestClient, sweep_id: int) -> None:
    def build(**more: Any) -> Any:
        return client.post(URL, json={"sweep_id": sweep_id, "k": 1, **more})

    assert [build().json()["name"] for _ in range(2)] == ["small-1", "small-2"]
    assert build(name="small-3").json()["name"] == "small-3"
    assert build().json()["name"] == "small-4"
    assert_problem(build(name="small-1"), 409, "small-1", "another name")


BAD: list[tuple[dict[str, Any], int, str]] = [
    ({"k": 5}, 422, "k is 5, but only 4"),
    ({"k": 0}, 422, "body.k"),
    ({"k": 2, "quorum": 3}, 422, "quorum: 3 exceeds the number of members, k: 2"),
    ({"mode": "both"}, 422, "in_graph"),
    ({"combine": "best"}, 422, "stacking"),
    ({"fit_on": "test"}, 422, "fit_on"),
    ({"fit_on": "validation"}, 422, "force"),
    ({"trial_ids": [1]}, 422, "exactly one of sweep_id and trial_ids"),
    ({"sweep_id": None}, 422, "exactly one of sweep_id and trial_ids"),
    ({"sweep_id": None, "trial_ids": []}, 422, "trial_ids"),
    ({"sweep_id": None, "trial_ids": [1, 1]}, 422, "must not contain duplicates"),
    ({"sweep_id": None, "trial_ids": [1, 99]}, 404, "no trial 99"),
    ({"sweep_id": None, "trial_ids": [4]}, 422, "trial 3 of sweep 1 (id 4) saved no model"),
    ({"sweep_id": None, "trial_ids": [1, 2], "k": 3}, 422, "k: must be omitted"),
    ({"sweep_id": None, "trial_ids": [1], "select": "greedy"}, 422, "select"),
    ({"sweep_id": None, "trial_ids": [1, 2], "weights": [1]}, 422, "weights: must have one weight for each"),
    ({"sweep_id": None, "trial_ids": [1, 2], "weights": [0, 0]}, 422, "at least one"),
    (
        {"sweep_id": None, "trial_ids": [1, 2], "weights": [1, 2], "combine": "median"},
        422,
        "not supported by combine: median",
    ),
    ({"weights": [1, 2, 3]}, 422, "weights: must have one weight for each"),
    ({"select": "explicit"}, 422, "trial_ids"),
    ({"select": "greedy"}, 422, "saved no predictions"),
    ({"combine": "stacking"}, 422, "saved no predictions"),
    ({"combine": "weighted"}, 422, "saved no predictions"),
    ({"calibrate": True}, 422, "saved no predictions"),
    ({"deadline_ms": 0.5}, 422, "deadline_ms"),
    ({"deadline_ms": True}, 422, "deadline_ms"),
    ({"deadline_ms": "5"}, 422, "deadline_ms"),
    ({"unknown": 1}, 422, "body.unknown"),
    ({"\ud83d": 1}, 422, "body"),
    ({"sweep_id": 99}, 404, "no sweep 99"),
    ({"sweep_id": 2**63}, 422, "sweep_id"),
    ({"sweep_id": "one"}, 422, "sweep_id"),
]


@pytest.mark.parametrize(("changes", "status", "words"), BAD, ids=str)
def test_invalid_ensemble_is_refused_and_not_stored(
    client: TestClient, sweep_id: int, changes: dict[str, Any], status: int, words: str
) -> None:
    body = json.dumps({"sweep_id": sweep_id, **changes})
    answer = client.post(URL, content=body, headers={"Content-Type": "application/json"})
    assert_problem(answer, status, words)
    assert client.get(URL).json()["items"] == []


def test_pages_contain_every_ensemble_once_newest_first(client: TestClient, sweep_id: int) -> None:
    for _ in range(3):
        client.post(URL, json={"sweep_id": sweep_id, "k": 1})
    first = client.get(f"{URL}?limit=2").json()
    second = client.get(f"{URL}?limit=2&after={first['next']}").json()
    assert [e["id"] for e in first["items"] + second["items"]] == [3, 2, 1]
    assert second["next"] is None


def test_stop_is_idempotent(client: TestClient, ensemble_id: int) -> None:
    answers = [client.post(f"{URL}/{ensemble_id}/stop") for _ in range(2)]
    assert [(a.status_code, a.json()["state"]) for a in answers] == [(200, "stopped")] * 2


# Evaluations.


def test_long_evaluation_is_202_and_found_by_id(client: TestClient, service: ServiceRig, ready_id: int) -> None:
    answer = client.post(f"{URL}/{ready_id}/evaluate", json={"wait_s": 0})
    assert answer.status_code == 202
    found = answer.json()
    assert (found["state"], found["split"], found["result"]) == ("queued", "test", None)
    url = f"{URL}/{ready_id}/evaluations/{found['id']}"
    assert_problem(client.get(f"{url}/probabilities"), 404, "no result yet")
    service.finish_evaluation(found["id"], MEASURED)
    service.data.probabilities(found["id"]).write_bytes(b"npy")
    assert client.get(url).json()["result"] == MEASURED
    probabilities = client.get(f"{url}/probabilities")
    assert (probabilities.content, probabilities.headers["content-type"]) == (b"npy", "application/x-npy")


@pytest.mark.parametrize(
    ("result", "reason", "status"),
    [(MEASURED, "", 200), (None, "member 2 did not answer", 422)],
    ids=["measured", "not"],
)
def test_evaluation_waits_for_the_host(
    client: TestClient, service: ServiceRig, ready_id: int, result: Any, reason: str, status: int
) -> None:
    ids = itertools.count(1)
    on_wake(service.settings.runtime.wake_socket("host"), lambda: service.finish_evaluation(next(ids), result, reason))
    answer = client.post(f"{URL}/{ready_id}/evaluate", json={"split": "calibration"})
    if result is None:
        assert_problem(answer, status, reason)
    else:
        assert (answer.status_code, answer.json()["result"], answer.json()["split"]) == (status, result, "calibration")


ROWS = {"inputs": [[1, 2, 3], [4, 5, 6]]}
UNMEASURABLE: list[tuple[Any, int, str]] = [
    ({"split": "train"}, 422, "split"),
    ({"wait_s": -1}, 422, "wait_s"),
    ({"wait_s": 301}, 422, "wait_s"),
    ({"rows": 5}, 422, "rows"),
    ([], 400, "object"),
    ({"split": "validation"}, 422, "selected on this split"),
    ({"version": 2}, 404, "no version 2"),
    (ROWS, 422, "targets"),
    ({"targets": [0, 1]}, 422, "inputs and targets"),
    ({**ROWS, "targets": [0]}, 422, "one entry for each of the 2 rows"),
    ({**ROWS, "targets": [0, 2]}, 422, "unknown class 2 in row 1; classes: cat, dog"),
    ({**ROWS, "targets": ["cat", "cow"]}, 422, "'cow' in row 1"),
    ({**ROWS, "targets": [0, True]}, 422, "True in row 1"),
    ({**ROWS, "targets": {"0": 1}}, 422, "one entry for each"),
    ({**ROWS, "targets": [0, 1], "split": "test"}, 422, "split: cannot be combined"),
    ({"inputs": [[1, 2]], "targets": [0]}, 422, "[rows, 3]"),
    ({"inputs": [["a", "b", "c"]], "targets": [0]}, 422, "must be numbers"),
    ({**ROWS, "targets": None}, 422, "inputs and targets"),
    ({"inputs": None, "targets": [0]}, 422, "inputs and targets"),
]


@pytest.mark.parametrize(("body", "status", "words"), UNMEASURABLE, ids=str)
def test_invalid_evaluation_is_refused_and_not_queued(
    client: TestClient, ready_id: int, body: Any, status: int, words: str
) -> None:
    assert_problem(client.post(f"{URL}/{ready_id}/evaluate", json=body), status, words)
    assert client.get(f"{URL}/{ready_id}/evaluations").json() == []


def test_stopped_ensemble_cannot_be_evaluated(client: TestClient, ensemble_id: int) -> None:
    assert_problem(client.post(f"{URL}/{ensemble_id}/evaluate", json={}), 409, "is building")


def test_degraded_ensemble_cannot_be_evaluated_and_the_member_is_named(
    client: TestClient, service: ServiceRig, ready_id: int
) -> None:
    with service.database.write() as connection:
        (replica,) = ensemble_reader.get(connection, ready_id).active.members[1].replicas
        member_replicas.change(connection, replica.id, MemberState.FAILED, "its weights are gone")
        ensemble_writer.change(connection, ready_id, EnsembleState.DEGRADED, "", AT)
    answer = client.post(f"{URL}/{ready_id}/evaluate", json={})
    assert_problem(answer, 409, "needs all members", "trial 2 of sweep 1 is failed (its weights are gone)")


def test_long_target_is_truncated_in_the_message(client: TestClient, ready_id: int) -> None:
    body = {"inputs": [[1, 2, 3]], "targets": ["cow" * 1000]}
    answer = client.post(f"{URL}/{ready_id}/evaluate", json=body)
    assert_problem(answer, 422, "in row 0; classes:")
    assert len(answer.json()["detail"]) < 200


def test_posted_rows_are_stored_unchanged_for_the_host(client: TestClient, service: ServiceRig, ready_id: int) -> None:
    body = {**ROWS, "targets": ["dog", 0], "wait_s": 0}
    found = client.post(f"{URL}/{ready_id}/evaluate", json=body).json()
    assert (found["split"], found["version"]) == ("posted", 1)
    rows = load_file(service.data.posted_rows(found["id"]))
    np.testing.assert_array_equal(rows["inputs"], ROWS["inputs"])
    np.testing.assert_array_equal(rows["targets"], [1, 0])


# Versions and life cycle.


def test_new_version_is_the_target_until_promoted_or_rolled_back(
    client: TestClient, sweep_id: int, ready_id: int
) -> None:
    url = f"{URL}/{ready_id}"
    assert_problem(client.post(f"{url}/rollback"), 409, "no version before 1")
    assert_problem(client.post(f"{url}/promote"), 409, "no canary")
    answer = client.post(f"{url}/versions", json={"sweep_id": sweep_id, "k": 1, "canary_share": 0.1})
    assert answer.status_code == 201
    body = answer.json()
    assert (body["version"], body["canary"], body["canary_share"], body["target"]) == (1, 2, 0.1, None)
    assert [(v["number"], v["role"], v["k"]) for v in body["versions"]] == [(1, "active", 3), (2, "canary", 1)]
    again = client.post(f"{url}/versions", json={"sweep_id": sweep_id, "k": 2})
    assert_problem(again, 409, "version 2 is pending")
    promoted = client.post(f"{url}/promote").json()
    assert (promoted["version"], promoted["target"], promoted["canary"]) == (1, 2, None)
    back = client.post(f"{url}/rollback").json()
    assert (back["version"], back["target"], back["canary"]) == (1, None, None)


def test_version_has_the_inputs_of_the_one_before(client: TestClient, service: ServiceRig, ready_id: int) -> None:
    other = service.sweep()
    trial_id = service.trial(other, 0, 0.9, architecture={"image": [1, 2, 2]})
    answer = client.post(f"{URL}/{ready_id}/versions", json={"trial_ids": [trial_id]})
    assert_problem(answer, 422, "has 4 inputs", "build another ensemble")


def test_stopped_ensemble_can_be_started_and_a_retired_one_cannot(client: TestClient, ready_id: int) -> None:
    url = f"{URL}/{ready_id}"
    assert client.post(f"{url}/stop").json()["state"] == "stopped"
    assert_problem(client.post(f"{url}/promote"), 409, "stopped", "start it first")
    assert client.post(f"{url}/start").json()["state"] == "building"
    assert [client.post(f"{url}/retire").json()["state"] for _ in range(2)] == ["retired"] * 2
    for action in ("start", "stop", "promote", "rollback"):
        assert_problem(client.post(f"{url}/{action}"), 409, "retired")


# Incompatible members, and damaged weights.


def test_members_with_different_data_are_named(client: TestClient, service: ServiceRig, sweep_id: int) -> None:
    birds = service.trial(service.sweep(), 0, 0.9, architecture={"labels": ["hen", "owl"]})
    wide = service.trial(service.sweep(), 0, 0.9, architecture={"image": [1, 1, 4]})
    values = service.trial(service.sweep(), 0, 0.9, architecture={"task": "regression"})
    assert_problem(client.post(URL, json={"trial_ids": [1, birds]}), 422, "trial 0 of sweep 2 has different classes")
    assert_problem(client.post(URL, json={"trial_ids": [1, wide]}), 422, "trial 0 of sweep 3 takes 4 inputs")
    assert_problem(client.post(URL, json={"trial_ids": [1, values]}), 422, "trial 0 of sweep 4 is for regression")


def test_trials_of_several_sweeps_may_be_combined(client: TestClient, service: ServiceRig, sweep_id: int) -> None:
    other = service.trial(service.sweep(name="other"), 0, 0.9)
    body = client.post(URL, json={"trial_ids": [other, 1], "weights": [3, 1]}).json()
    assert [(m["trial_id"], m["weight"]) for m in body["members"]] == [(other, 0.75), (1, 0.25)]
    assert (body["name"], body["sweep_id"], body["selection"]["method"]) == ("ensemble-1", None, "explicit")


@pytest.mark.parametrize("damage", [b"", b"garbage", None], ids=["empty", "garbage", "gone"])
def test_damaged_weights_are_named(
    client: TestClient, service: ServiceRig, sweep_id: int, damage: bytes | None
) -> None:
    model = service.attempt(sweep_id, 1).model
    model.unlink() if damage is None else model.write_bytes(damage)
    assert_problem(client.post(URL, json={"sweep_id": sweep_id}), 422, display_path(model))


def test_changed_weights_are_named(client: TestClient, service: ServiceRig, sweep_id: int) -> None:
    model = service.attempt(sweep_id, 1).model
    content = model.read_bytes()
    model.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert_problem(client.post(URL, json={"sweep_id": sweep_id}), 422, display_path(model), "SHA-256")


def test_sweep_without_models_is_refused_with_a_hint(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    service.trial(sweep_id, 0, 0.5, model=False)
    assert_problem(client.post(URL, json={"sweep_id": sweep_id}), 422, "save_model")


def test_evaluation_belongs_to_its_ensemble(client: TestClient, service: ServiceRig, sweep_id: int) -> None:
    one, other = (client.post(URL, json={"sweep_id": sweep_id, "k": 1}).json()["id"] for _ in range(2))
    evaluation_id = service.evaluation(one)
    for tail in ("", "/probabilities"):
        assert_problem(client.get(f"{URL}/{other}/evaluations/{evaluation_id}{tail}"), 404, "no evaluation")
    assert client.get(f"{URL}/{one}/evaluations/{evaluation_id}").status_code == 200


# The gateway, from the side of the api.


def test_prediction_without_a_gateway_is_503_with_retry_after(client: TestClient, ensemble_id: int) -> None:
    answer = client.post(f"{URL}/{ensemble_id}/predict", json={"inputs": [[1.0]]})
    assert_problem(answer, 503, "the gateway is not running")
    assert answer.headers["retry-after"] == "1"
