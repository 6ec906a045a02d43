"""The commands for trials over REST: stop, retry and clone in every state."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient

from podium.db.queries import pending_client_requests
from podium.sweep.lifecycle.allowed_commands import POSSIBLE_FOR_TRIAL
from podium.sweep.lifecycle.database_changes import (
    AttemptEnded,
    AttemptPlaced,
    AttemptReleased,
    ParamDefined,
    TrialDropped,
    TrialPlanned,
    TrialRetried,
)
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import SweepState, TrialState
from tests.service_rig import AT, ServiceRig, assert_problem, nonce
from tests.unit.api.rest.states import (
    CANCELLED,
    FAILED,
    FINISHED,
    V1,
    R,
    S,
    end_attempt,
    kinds,
    sweep_in,
    trial_in,
)

FAILED_TRIAL = TrialState.FAILED
WAITING, RUNNING, PRUNED = TrialState.WAITING, TrialState.RUNNING, TrialState.PRUNED
TRIAL_COMMANDS: dict[
    str, dict[TrialState, str | None]
] = {  # the request that results; in a missing state the command is 409
    "stop": {WAITING: "stop", RUNNING: "stop", TrialState.CANCELLED: None},
    "retry": {TrialState.FAILED: "retry", TrialState.CANCELLED: "retry", WAITING: None, RUNNING: None},
}


@pytest.mark.parametrize("state", TrialState)
@pytest.mark.parametrize("command", TRIAL_COMMANDS)
def test_every_command_for_a_trial_in_every_state(
    client: TestClient, service: ServiceRig, command: str, state: TrialState
) -> None:
    trial_id = trial_in(service, sweep_in(service, R), 0, state)
    answers = [client.post(f"{V1}/trials/{trial_id}/{command}") for _ in range(2)]
    if state not in TRIAL_COMMANDS[command]:
        body = assert_problem(answers[0], 409, f"a {state} trial cannot be", "clone")
        assert body["possible"] == list(POSSIBLE_FOR_TRIAL[state])
        assert "trial.requested" not in kinds(service)
        return
    requested = TRIAL_COMMANDS[command][state]
    assert [(a.status_code, a.json()["state"], a.json()["requested"]) for a in answers] == [(200, state, requested)] * 2
    assert kinds(service).count("trial.requested") == (requested is not None)


def test_attempt_without_device_sends_its_files(client: TestClient, service: ServiceRig) -> None:
    sweep_id = sweep_in(service, R)
    trial_id = trial_in(service, sweep_id, 0, RUNNING)
    key = AttemptKey(trial_id, 1)

    def sends() -> bool:
        return client.get(f"{V1}/trials/{trial_id}").json()["attempts"][0]["sending_files"]  # type: ignore[no-any-return]

    assert not sends()
    service.commit(AttemptReleased(key, sweep_id, 0, 1.5, AT + 2))
    assert sends()
    end_attempt(service, key, sweep_id, 0, TrialState.FINISHED)
    assert not sends()


def test_each_failure_can_be_retried_once(client: TestClient, service: ServiceRig) -> None:
    sweep_id = sweep_in(service, R)
    trial_id = trial_in(service, sweep_id, 0, TrialState.FAILED)
    url = f"{V1}/trials/{trial_id}/retry"
    with ThreadPoolExecutor(4) as pool:
        assert {answer.status_code for answer in pool.map(lambda _: client.post(url), range(8))} == {200}
    service.commit(TrialRetried(trial_id, sweep_id, 0, AT))
    assert client.post(url).json()["requested"] is None  # it waits again, so it cannot be retried
    key = AttemptKey(trial_id, 2)
    service.commit(AttemptPlaced(key, sweep_id, 0, "cpu-0", "node", AT, nonce(0, 2)))
    end_attempt(service, key, sweep_id, 0, TrialState.FAILED)
    assert client.post(url).json()["requested"] == "retry"
    assert kinds(service).count("trial.requested") == 2


@pytest.mark.parametrize("command", ["retry", "clone"])
@pytest.mark.parametrize("state", [FINISHED, FAILED])
def test_terminal_sweep_continues_for_a_trial(
    client: TestClient, service: ServiceRig, command: str, state: SweepState
) -> None:
    sweep_id = service.sweep(run_cap=1)
    service.trial(sweep_id, 0, 0.5)
    failed = [trial_in(service, sweep_id, number, TrialState.FAILED) for number in (1, 2)]
    service.end_sweep(sweep_id, state)
    assert client.post(f"{V1}/trials/{failed[0]}/{command}").status_code in (200, 202)
    sweep = client.get(f"{V1}/sweeps/{sweep_id}").json()
    assert (sweep["state"], sweep["ended_at"], sweep["run_cap"]) == ("queued", None, 2)
    assert sweep["reason"] == f"trial 1 is {'retried' if command == 'retry' else 'cloned'}"
    client.post(f"{V1}/trials/{failed[1]}/{command}")  # run_cap is raised for this one as well
    assert client.get(f"{V1}/sweeps/{sweep_id}").json()["run_cap"] == 3
    assert kinds(service).count("sweep.queued") == 2


def test_cap_is_not_raised_while_it_is_not_reached(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep(run_cap=4)
    trial_id = trial_in(service, sweep_id, 0, TrialState.FAILED)
    client.post(f"{V1}/trials/{trial_id}/retry")
    assert client.get(f"{V1}/sweeps/{sweep_id}").json()["run_cap"] == 4


def test_terminal_sweep_continues_only_for_the_retried_trial(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep(run_cap=4)
    trial_id = trial_in(service, sweep_id, 0, TrialState.FAILED)
    service.end_sweep(sweep_id)
    client.post(f"{V1}/trials/{trial_id}/retry")
    assert client.get(f"{V1}/sweeps/{sweep_id}").json()["run_cap"] == 1


@pytest.mark.parametrize("command", ["retry", "clone"])
@pytest.mark.parametrize(("state", "possible"), [(CANCELLED, []), (S, ["wait"])])
def test_trial_of_a_cancelled_or_stopping_sweep_is_not_retried(
    client: TestClient, service: ServiceRig, command: str, state: SweepState, possible: list[str]
) -> None:
    sweep_id = sweep_in(service, state)
    trial_id = trial_in(service, sweep_id, 0, TrialState.FAILED)
    body = assert_problem(client.post(f"{V1}/trials/{trial_id}/{command}"), 409, "trial")
    assert body["possible"] == possible
    assert client.get(f"{V1}/sweeps/{sweep_id}").json()["state"] == state


def test_request_ends_with_its_trial(client: TestClient, service: ServiceRig) -> None:
    sweep_id = sweep_in(service, R)
    trial_id = trial_in(service, sweep_id, 0, WAITING)
    client.post(f"{V1}/trials/{trial_id}/stop")
    service.commit(TrialDropped(trial_id, sweep_id, 0, AT))
    trial = client.get(f"{V1}/trials/{trial_id}").json()
    assert (trial["state"], trial["requested"]) == ("cancelled", None)
    assert client.post(f"{V1}/trials/{trial_id}/retry").json()["requested"] == "retry"
    assert_problem(client.post(f"{V1}/trials/{trial_id}/stop"), 409, "is being retried", "possible: wait")


def test_failed_attempt_shows_the_end_of_its_log(client: TestClient, service: ServiceRig) -> None:
    trial_id = trial_in(service, sweep_in(service, R), 0, TrialState.FAILED)
    assert client.get(f"{V1}/trials/{trial_id}").json()["attempts"][0]["log_tail"] == "the end"


# Clones.


@pytest.mark.parametrize("state", TrialState)
def test_any_trial_can_be_cloned(client: TestClient, service: ServiceRig, state: TrialState) -> None:
    sweep_id = sweep_in(service, R)
    trial_id = trial_in(service, sweep_id, 0, state)
    answer = client.post(f"{V1}/trials/{trial_id}/clone")
    assert answer.status_code == 202
    assert answer.json() == {
        "id": 1, "sweep_id": sweep_id, "params": {"lr": 0.01}, "cloned_from": trial_id, "trial_id": None,
    }  # fmt: skip


def test_clone_has_the_given_parameters_and_becomes_a_trial(client: TestClient, service: ServiceRig) -> None:
    sweep_id = sweep_in(service, R)
    trial_id = service.trial(sweep_id, 0, 0.5)
    url, key = f"{V1}/trials/{trial_id}/clone", {"Idempotency-Key": "once"}
    body = {"params": {"lr": 0.02}}
    added = client.post(url, json=body, headers=key)
    assert (added.status_code, added.json()["params"]) == (202, {"lr": 0.02})
    again = client.post(url, json=body, headers=key)
    assert (again.status_code, again.json()) == (200, added.json())
    assert kinds(service).count("trial.requested") == 1
    assert_problem(client.post(url, json={"params": {"lr": 0.03}}, headers=key), 409, "Idempotency-Key")
    service.commit(TrialPlanned(50, sweep_id, 1, {"lr": 0.02}, "cloned", {}, AT, enqueued_id=added.json()["id"]))
    assert client.post(url, json=body, headers=key).json()["trial_id"] == 50
    assert client.get(f"{V1}/trials/50").json()["cloned_from"] == trial_id
    assert client.get(f"{V1}/trials/{trial_id}").json()["cloned_from"] is None


def test_clone_keeps_parameters_defined_by_the_trial_within_their_bounds(
    client: TestClient, service: ServiceRig
) -> None:
    sweep_id = sweep_in(service, R)
    trial_id = service.trial(sweep_id, 0, 0.5)
    service.commit(ParamDefined(trial_id, "width", 9, {"min": 8, "max": 64}))
    url = f"{V1}/trials/{trial_id}/clone"
    assert client.get(f"{V1}/trials/{trial_id}").json()["params"] == {"lr": 0.01, "width": 9}
    assert client.post(url).json()["params"] == {"lr": 0.01, "width": 9}
    assert client.post(url, json={"params": {"width": 10}}).json()["params"] == {"lr": 0.01, "width": 10}
    assert_problem(client.post(url, json={"params": {"width": 3}}), 422, "must be between 8 and 64, got 3")
    with service.database.read() as connection:
        distributions = [added.distributions for added in pending_client_requests.enqueued(connection)]
    assert distributions == [{"width": {"min": 8, "max": 64}}] * 2


def test_same_key_returns_its_clone_after_the_end_of_the_sweep(client: TestClient, service: ServiceRig) -> None:
    sweep_id = sweep_in(service, R)
    url = f"{V1}/trials/{service.trial(sweep_id, 0, 0.5)}/clone"
    added = client.post(url, headers={"Idempotency-Key": "once"}).json()
    client.post(f"{V1}/sweeps/{sweep_id}/cancel")
    assert client.post(url, headers={"Idempotency-Key": "once"}).json() == added
    assert client.post(url, headers={"Idempotency-Key": "twice"}).status_code == 409


def test_invalid_clone_names_its_key_and_adds_nothing(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    trial_id = service.trial(sweep_id, 0, 0.5)
    service.end_sweep(sweep_id)
    url = f"{V1}/trials/{trial_id}/clone"
    body = assert_problem(client.post(url, json={"params": {"lrr": 1}}), 422, "did you mean 'lr'?")
    assert body["errors"][0]["location"] == ["params", "lrr"]
    assert_problem(client.post(url, json={"params": {"lr": 7}}), 422, "between")
    bodies: tuple[Any, ...] = ({"params": {"lr": [1]}}, {"params": 3}, {"parameters": {}}, [])
    for wrong in bodies:
        assert_problem(client.post(url, json=wrong), 422)
    assert client.get(f"{V1}/sweeps/{sweep_id}").json()["state"] == "finished"
    assert "trial.requested" not in kinds(service)


@pytest.mark.parametrize("state", TrialState)
def test_trial_of_a_page_is_as_that_of_its_own_route(
    client: TestClient, service: ServiceRig, state: TrialState
) -> None:
    """One is serialized from plain values, the other by the response model."""
    sweep_id = sweep_in(service, R)
    trial_id = trial_in(service, sweep_id, 0, state)
    client.patch(f"{V1}/trials/{trial_id}", json={"tags": ["keep"]})
    (item,) = client.get(f"{V1}/sweeps/{sweep_id}/trials").json()["items"]
    whole = client.get(f"{V1}/trials/{trial_id}").json()
    changing = {"running_s", "queued_s"} if state in (WAITING, RUNNING) else set()
    assert item.keys() - whole.keys() == set()
    assert {name: whole[name] for name in item.keys() - changing} == {
        name: item[name] for name in item.keys() - changing
    }
    assert item["created_at"].endswith("Z") and item["tags"] == ["keep"]


@pytest.mark.parametrize("large", [3, 10**30])
def test_details_of_a_trial_are_the_same_on_a_page(client: TestClient, service: ServiceRig, large: int) -> None:
    """An integer of more than 64 bits takes another serializer."""
    sweep_id = sweep_in(service, R)
    trial_id = service.trial(sweep_id, 0, None, model=False)
    attrs = {"large": large, "none": None, "list": [1.0, "a"]}
    ended = Ended(
        AttemptKey(trial_id, 1), FAILED_TRIAL, AT + 0.25, AT + 3.123456, cause=Cause.USER_ERROR, user_attrs=attrs,
        constraints={"size": 1e-9},
    )  # fmt: skip
    service.commit(AttemptEnded(ended, sweep_id, 0, FAILED_TRIAL))
    client.post(f"{V1}/trials/{trial_id}/retry")
    page = client.get(f"{V1}/sweeps/{sweep_id}/trials").text
    (item,) = json.loads(page)["items"]
    whole = client.get(f"{V1}/trials/{trial_id}").json()
    assert {name: whole[name] for name in item} == item
    assert item["user_attrs"] == attrs and item["constraints"] == {"size": 1e-9} and item["requested"] == "retry"
    assert item["ended_at"].endswith(".123456Z") and item["value"] is None and '"value":null' in page
