"""Ensembles over REST: built of the best, listed, measured, stopped."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from sweep.part import on_wake
from tests.service_rig import ServiceRig, assert_problem

URL = "/api/v1/ensembles"


@pytest.fixture
def sweep_id(service: ServiceRig) -> int:
    """A sweep whose trials 0 to 4 finished; trial 3, the best, left no model."""
    found = service.sweep()
    for number, value in enumerate([0.5, 0.7, 0.7, 0.9, 0.2]):
        service.trial(found, number, value, model=number != 3)
    return found


@pytest.fixture
def ensemble_id(client: TestClient, sweep_id: int) -> int:
    built: int = client.post(URL, json={"sweep_id": sweep_id}).json()["id"]
    return built


def test_the_best_that_left_a_model_become_members(client: TestClient, sweep_id: int) -> None:
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


def test_names_are_the_sweeps_with_a_number_and_never_twice(client: TestClient, sweep_id: int) -> None:
    def build(**more: Any) -> Any:
        return client.post(URL, json={"sweep_id": sweep_id, "k": 1, **more})

    assert [build().json()["name"] for _ in range(2)] == ["small-1", "small-2"]
    assert build(name="small-3").json()["name"] == "small-3"
    assert build().json()["name"] == "small-4"
    assert_problem(build(name="small-1"), 409, "small-1", "another name")


BAD: list[tuple[dict[str, Any], int, str]] = [
    ({"k": 5}, 422, "k is 5, but only 4"),
    ({"k": 0}, 422, "body.k"),
    ({"k": 2, "quorum": 3}, 422, "quorum is 3"),
    ({"mode": "both"}, 422, "in_graph"),
    ({"combine": "median"}, 422, "mean"),
    ({"deadline_ms": 0.5}, 422, "deadline_ms"),
    ({"unknown": 1}, 422, "body.unknown"),
    ({"\ud83d": 1}, 422, "body"),
    ({"sweep_id": 99}, 404, "no sweep 99"),
    ({"sweep_id": 2**63}, 422, "sweep_id"),
    ({"sweep_id": "one"}, 422, "sweep_id"),
]


@pytest.mark.parametrize(("changes", "status", "words"), BAD, ids=str)
def test_what_cannot_be_built_is_refused_and_not_stored(
    client: TestClient, sweep_id: int, changes: dict[str, Any], status: int, words: str
) -> None:
    body = json.dumps({"sweep_id": sweep_id, **changes})
    answer = client.post(URL, content=body, headers={"Content-Type": "application/json"})
    assert_problem(answer, status, words)
    assert client.get(URL).json()["items"] == []


def test_pages_hold_every_ensemble_once_newest_first(client: TestClient, sweep_id: int) -> None:
    for _ in range(3):
        client.post(URL, json={"sweep_id": sweep_id, "k": 1})
    first = client.get(f"{URL}?limit=2").json()
    second = client.get(f"{URL}?limit=2&after={first['next']}").json()
    assert [e["id"] for e in first["items"] + second["items"]] == [3, 2, 1]
    assert second["next"] is None


def test_stopping_is_idempotent(client: TestClient, ensemble_id: int) -> None:
    answers = [client.post(f"{URL}/{ensemble_id}/stop") for _ in range(2)]
    assert [(a.status_code, a.json()["state"]) for a in answers] == [(200, "stopped")] * 2


# Evaluations.


def test_an_evaluation_that_takes_longer_is_202_and_found_by_its_id(
    client: TestClient, service: ServiceRig, ensemble_id: int
) -> None:
    answer = client.post(f"{URL}/{ensemble_id}/evaluate", json={"wait_s": 0})
    assert answer.status_code == 202
    found = answer.json()
    assert (found["state"], found["split"], found["result"]) == ("queued", "test", None)
    url = f"{URL}/{ensemble_id}/evaluations/{found['id']}"
    assert_problem(client.get(f"{url}/probabilities"), 404, "no result yet")
    service.finish_evaluation(found["id"], {"rows": 3})
    service.data.probabilities(found["id"]).write_bytes(b"npy")
    assert client.get(url).json()["result"] == {"rows": 3}
    probabilities = client.get(f"{url}/probabilities")
    assert (probabilities.content, probabilities.headers["content-type"]) == (b"npy", "application/x-npy")


@pytest.mark.parametrize(
    ("result", "reason", "status"), [({"rows": 7}, "", 200), (None, "member 2 did not answer", 422)]
)
def test_evaluating_waits_for_the_host(
    client: TestClient, service: ServiceRig, ensemble_id: int, result: Any, reason: str, status: int
) -> None:
    ids = itertools.count(1)
    on_wake(service.settings.runtime.wake_socket("host"), lambda: service.finish_evaluation(next(ids), result, reason))
    answer = client.post(f"{URL}/{ensemble_id}/evaluate", json={"split": "validation"})
    if result is None:
        assert_problem(answer, status, reason)
    else:
        assert (answer.status_code, answer.json()["result"], answer.json()["split"]) == (status, result, "validation")


@pytest.mark.parametrize("body", [{"split": "train"}, {"wait_s": -1}, {"wait_s": 301}, {"rows": 5}, []], ids=str)
def test_what_cannot_be_measured_is_422(client: TestClient, ensemble_id: int, body: Any) -> None:
    assert_problem(client.post(f"{URL}/{ensemble_id}/evaluate", json=body), 422)


def test_an_evaluation_belongs_to_its_ensemble(client: TestClient, service: ServiceRig, sweep_id: int) -> None:
    one, other = (client.post(URL, json={"sweep_id": sweep_id, "k": 1}).json()["id"] for _ in range(2))
    evaluation_id = service.evaluation(one)
    for tail in ("", "/probabilities"):
        assert_problem(client.get(f"{URL}/{other}/evaluations/{evaluation_id}{tail}"), 404, "no evaluation")
    assert client.get(f"{URL}/{one}/evaluations/{evaluation_id}").status_code == 200


# The gateway, from the api's side.


def test_with_no_gateway_a_prediction_is_503_and_says_to_come_again(client: TestClient, ensemble_id: int) -> None:
    answer = client.post(f"{URL}/{ensemble_id}/predict", json={"inputs": [[1.0]]})
    assert_problem(answer, 503, "the gateway is not there")
    assert answer.headers["retry-after"] == "1"
