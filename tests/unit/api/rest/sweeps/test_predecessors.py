"""Sweeps after sweeps over REST: references are resolved, refused, shown, released, and repeated safely."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from podium.api.cli.terminal import sweep_output
from podium.db.integrity.row_checks import breaches
from podium.db.stores import sweep_predecessors
from podium.sweep.lifecycle.database_changes import SweepReleased
from podium.sweep.lifecycle.dependent_sweep_release import FixedValues
from podium.sweep.values.states import SweepState
from tests.service_rig import AT, ServiceRig, assert_problem
from tests.specs import builtin_document

URL = "/api/v1/sweeps"
FIX_LR = {"sweep": "coarse", "parameters": ["lr"]}


@pytest.fixture
def coarse(service: ServiceRig) -> ServiceRig:
    """Sweep 1, "coarse": finished, its best feasible trial is number 1 with lr 0.02."""
    service.sweep(name="coarse", run_cap=3)
    service.trial(1, 0, 0.5, params={"lr": 0.01})
    service.trial(1, 1, 0.9, params={"lr": 0.02})
    service.trial(1, 2, 0.95, params={"lr": 0.05}, constraints={"size": 1.0})
    service.end_sweep(1)
    return service


def post(client: TestClient, key: str | None = None, **changes: Any) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post(URL, json=builtin_document(**changes), headers=headers)


def submit(client: TestClient, **changes: Any) -> dict[str, Any]:
    answer = post(client, **changes)
    assert answer.status_code == 201, answer.text
    sweep: dict[str, Any] = answer.json()
    return sweep


def scheduler_releases(service: ServiceRig, sweep_id: int, params: dict[str, Any] | None = None) -> None:
    fixed = None if params is None else FixedValues(1, 2, 1, params)
    service.commit(SweepReleased(sweep_id, fixed, AT + 9))


def assert_rows_are_sound(service: ServiceRig) -> None:
    with service.database.read() as connection:
        assert [breach for breach in breaches(connection) if breach.invariant != "devices"] == []


def test_names_become_ids_and_both_pages_show_the_chain(coarse: ServiceRig) -> None:
    client = coarse.client()
    sweep = submit(client, name="fine", fix_from=FIX_LR)
    assert (sweep["spec"]["after"], sweep["spec"]["fix_from"]) == ([1], {"sweep": 1, "parameters": ["lr"]})
    assert (sweep["held"], sweep["fixed"], sweep["successors"]) == (True, None, [])
    assert sweep["predecessors"] == [{"id": 1, "name": "coarse", "state": "finished"}]
    earlier = client.get(f"{URL}/1").json()
    assert earlier["successors"] == [{"id": 2, "name": "fine", "state": "queued"}]
    listed = {each["id"]: each for each in client.get(URL).json()["items"]}
    assert (listed[2]["predecessors"], listed[1]["successors"]) == (sweep["predecessors"], earlier["successors"])
    assert_rows_are_sound(coarse)


def test_released_sweep_has_its_values_as_constants(coarse: ServiceRig) -> None:
    client = coarse.client()
    submit(client, fix_from=FIX_LR)
    scheduler_releases(coarse, 2, {"lr": 0.02})
    sweep = client.get(f"{URL}/2").json()
    assert sweep["fixed"] == {"sweep_id": 1, "trial_id": 2, "number": 1, "params": {"lr": 0.02}}
    assert (sweep["spec"]["parameters"], "fix_from" in sweep["spec"]) == ({"lr": {"value": 0.02}}, False)
    assert coarse.stored(2).spec.count('"lr":{"value":0.02}') == 1
    assert "value: 0.02" in client.get(f"{URL}/2/file").text
    assert sweep_output.chain(sweep) == [
        "after: sweep 1 'coarse' (finished)", "fixed from trial 1 of sweep 1: lr=0.02",
    ]  # fmt: skip
    assert_rows_are_sound(coarse)


@pytest.mark.parametrize("changes, words", [
    ({"after": [7]}, "after.0: there is no sweep 7; write the id or the name of a sweep that was submitted before"),
    ({"after": ["fine"]}, "after.0: no sweep is named 'fine'"),
    ({"after": ["twice"]}, "after.0: 2 sweeps are named 'twice'; write the id of one: 3, 2"),
    ({"fix_from": {"sweep": 7, "parameters": ["lr"]}}, "fix_from.sweep: there is no sweep 7"),
    ({"fix_from": {"sweep": "front", "parameters": ["lr"]}}, "fix_from.sweep: sweep 4 (front) has several objectives"),
    ({"fix_from": {"sweep": 2, "parameters": ["epochs"]}, "parameters": {"epochs": {"min": 1, "max": 3}}},
     "fix_from.parameters.0: sweep 2 (twice) has no parameter 'epochs'; remove it"),
    ({"fix_from": FIX_LR, "parameters": {"lr": {"min": 0.1, "max": 0.2}}},
     "fix_from: the best trial of sweep 1 (coarse), trial 1, has lr: 0.02, which this sweep does not allow: "
     "must be between 0.1 and 0.2, got 0.02"),
])  # fmt: skip
def test_invalid_reference_is_refused_with_its_key(coarse: ServiceRig, changes: dict[str, Any], words: str) -> None:
    coarse.sweep(name="twice")
    coarse.sweep(name="twice")
    metrics = [{"name": "val_accuracy", "goal": "maximize"}, {"name": "val_loss", "goal": "minimize"}]
    coarse.sweep(name="front", metric=None, metrics=metrics)
    answer = post(coarse.client(), **changes)
    assert_problem(answer, 422)
    assert words in answer.json()["detail"]


def test_repeated_submission_is_the_same_sweep_after_its_release(coarse: ServiceRig) -> None:
    client = coarse.client()
    changes = {"name": "coarse", "fix_from": FIX_LR}  # its own name would be ambiguous now
    assert post(client, "key", **changes).status_code == 201
    assert post(client, "key", **changes).status_code == 200
    scheduler_releases(coarse, 2, {"lr": 0.02})
    again = post(client, "key", **changes)
    assert (again.status_code, again.json()["id"]) == (200, 2)
    assert_problem(post(client, "key", name="coarse", after=[1]), 409, "another sweep")


def test_warm_start_is_selected_at_the_release(service: ServiceRig) -> None:
    service.sweep(name="coarse")
    client = service.client()
    sweep = submit(client, method="tpe", after=[1], warm_start=[1])
    assert sweep["warm_start"] is None
    service.trial(1, 0, 0.5)
    service.end_sweep(1)
    scheduler_releases(service, 2)
    assert client.get(f"{URL}/2").json()["warm_start"]["trials"] == 1
    assert [trial.trial_id for trial in service.stored(2).earlier] == [1]
    assert_rows_are_sound(service)


@pytest.mark.parametrize("state", [SweepState.FAILED, SweepState.CANCELLED])
def test_client_releases_after_a_failed_predecessor(service: ServiceRig, state: SweepState) -> None:
    client = service.client()
    service.sweep()
    submit(client, after=[1])
    service.end_sweep(1, state)
    with service.database.read() as connection:
        assert [held.sweep_id for held in sweep_predecessors.held_sweeps(connection)] == [2]
    released = client.post(f"{URL}/2/release")
    assert (released.status_code, released.json()["held"], released.json()["wait_reason"]) == (200, False, "scheduler")
    assert client.post(f"{URL}/2/release").status_code == 200, "a repeated request has no effect"
    assert service.stored(2).state is SweepState.QUEUED


def test_release_takes_the_best_values_so_far_or_is_refused(service: ServiceRig) -> None:
    client = service.client()
    service.sweep(name="coarse")
    submit(client, fix_from=FIX_LR)
    assert_problem(client.post(f"{URL}/2/release"), 409, "sweep 1 (coarse) has no finished trial")
    service.trial(1, 0, 0.5, params={"lr": 0.03})
    assert client.post(f"{URL}/2/release").json()["fixed"]["params"] == {"lr": 0.03}


def test_release_is_refused_for_sweeps_that_wait_for_none(service: ServiceRig) -> None:
    client = service.client()
    service.sweep()
    assert_problem(client.post(f"{URL}/1/release"), 409, "sweep 1 does not wait for other sweeps")
    assert_problem(client.post(f"{URL}/9/release"), 404)
    submit(client, after=[1])
    assert client.post(f"{URL}/2/cancel").json()["held"] is False
    assert_problem(client.post(f"{URL}/2/release"), 409, "a cancelled sweep cannot be released")
    assert_rows_are_sound(service)


def test_stop_is_refused_while_a_sweep_waits(service: ServiceRig) -> None:
    client = service.client()
    service.sweep()
    submit(client, after=[1])
    assert_problem(client.post(f"{URL}/2/stop"), 409, "cancel or release it")
    for command, state in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
        assert client.post(f"{URL}/2/{command}").json()["state"] == state


def test_chain_of_files_names_the_sweeps_of_earlier_files(coarse: ServiceRig) -> None:
    client = coarse.client()
    text = "name: fine\nmetric: {name: val_accuracy, goal: maximize}\nmethod: random\nafter: [coarse, 9]\n"
    text += "parameters: {lr: {min: 1e-4, max: 0.1}}\nprogram: {model: mlp, data: {name: digits}}\n"
    problem = assert_problem(client.post("/api/v1/sweep-files/submit", json={"text": text}), 422)
    assert [each["location"] for each in problem["errors"]] == [["after", "1"]]
    assert "4: after.1: there is no sweep 9" in problem["detail"]
    submitted = client.post("/api/v1/sweep-files/submit", json={"text": text.replace(", 9", "")})
    assert submitted.json()["spec"]["after"] == [1]


def test_values_are_taken_from_an_imported_study(service: ServiceRig) -> None:
    client = service.client()
    trial = {"state": "finished", "params": {"lr": 0.02}, "values": [0.5]}
    study = {"name": "elsewhere", "source": "a study", "metrics": [{"name": "val_loss", "goal": "minimize"}]}
    imported = client.post(
        "/api/v1/sweeps/import", json={**study, "parameters": {"lr": {"min": 0.0, "max": 1.0}}, "trials": [trial]}
    )
    assert imported.status_code == 201, imported.text
    submit(client, fix_from={"sweep": "elsewhere", "parameters": ["lr"]})
    assert client.post(f"{URL}/2/release").json()["spec"]["parameters"] == {"lr": {"value": 0.02}}
    assert_rows_are_sound(service)
