"""The commands for sweeps over REST: in every state, repeated and concurrent, and the content of refusals."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest
from starlette.testclient import TestClient

from podium.db.access.tokens import Role
from podium.sweep.lifecycle.allowed_commands import POSSIBLE_FOR_SWEEP
from podium.sweep.values.states import SWEEP_TRANSITIONS, SweepState
from tests.service_rig import ServiceRig, assert_problem
from tests.unit.api.rest.states import (
    CANCELLED,
    FINISHED,
    V1,
    P,
    Q,
    R,
    S,
    kinds,
    move,
    sweep_in,
)

# The state that follows a command in each state; in a missing state the command is 409.
SWEEP_COMMANDS: dict[str, dict[SweepState, SweepState]] = {
    "pause": {Q: P, R: P, P: P},
    "resume": {Q: Q, R: R, P: R},
    "stop": {Q: S, R: S, P: S, S: S},
    "cancel": {Q: CANCELLED, R: CANCELLED, P: CANCELLED, S: CANCELLED, CANCELLED: CANCELLED},
    "extend": {Q: Q, R: R, P: P, S: Q, FINISHED: Q},
}


def tell(client: TestClient, sweep_id: int, command: str) -> Any:
    url = f"{V1}/sweeps/{sweep_id}"
    return client.patch(url, json={"run_cap": 9}) if command == "extend" else client.post(f"{url}/{command}")


# Sweeps.


@pytest.mark.parametrize("state", SweepState)
@pytest.mark.parametrize("command", SWEEP_COMMANDS)
def test_every_command_in_every_state(client: TestClient, service: ServiceRig, command: str, state: SweepState) -> None:
    sweep_id = sweep_in(service, state)
    before = kinds(service)
    wanted = SWEEP_COMMANDS[command].get(state)
    answer = tell(client, sweep_id, command)
    if wanted is None:
        body = assert_problem(answer, 409, f"a {state} sweep cannot be", "possible: ")
        assert body["possible"] == list(POSSIBLE_FOR_SWEEP[state])
        assert client.get(f"{V1}/sweeps/{sweep_id}").json()["state"] == state
        assert kinds(service) == before
        return
    assert (answer.status_code, answer.json()["state"]) == (200, wanted)
    assert wanted is state or wanted in SWEEP_TRANSITIONS[state]
    assert kinds(service).count(f"sweep.{wanted}") == before.count(f"sweep.{wanted}") + (wanted is not state)
    after = kinds(service)
    again = tell(client, sweep_id, command)
    assert again.status_code == 200
    assert again.json() | {"budget": None} == answer.json() | {"budget": None}  # its time continues
    assert kinds(service) == after


def test_sweep_that_never_ran_is_queued_when_resumed(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    paused = tell(client, sweep_id, "pause").json()
    assert (paused["state"], paused["reason"]) == ("paused", "paused on request")
    assert tell(client, sweep_id, "resume").json()["state"] == "queued"


def test_refusal_names_the_state_and_the_possible_commands(client: TestClient, service: ServiceRig) -> None:
    finished, cancelled = sweep_in(service, FINISHED), sweep_in(service, CANCELLED)
    body = assert_problem(tell(client, finished, "pause"), 409, "a finished sweep cannot be paused; possible: extend")
    assert body["possible"][0] == "extend"
    body = assert_problem(
        tell(client, cancelled, "resume"), 409, "a cancelled sweep cannot be resumed", "terminal state"
    )
    assert body["possible"] == []


def test_concurrent_commands_are_applied_or_refused_in_order(service: ServiceRig) -> None:
    sweep_id = sweep_in(service, R)
    client = service.client()
    commands = ["pause", "cancel", "stop", "resume"] * 5
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda command: tell(client, sweep_id, command).status_code, commands))
    assert set(answers) <= {200, 409}
    assert client.get(f"{V1}/sweeps/{sweep_id}").json()["state"] == "cancelled"
    states = [SweepState(kind.removeprefix("sweep.")) for kind in kinds(service)]
    assert all(new in SWEEP_TRANSITIONS[old] for old, new in pairwise(states))
    assert states.count(CANCELLED) == 1


# Extending.


def test_finished_sweep_continues_when_its_cap_is_raised(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep(run_cap=1)
    service.trial(sweep_id, 0, 0.5)
    service.end_sweep(sweep_id)
    sweep = client.patch(f"{V1}/sweeps/{sweep_id}", json={"run_cap": 3, "priority": 2}).json()
    assert (sweep["state"], sweep["run_cap"], sweep["priority"]) == ("queued", 3, 2.0)
    assert (sweep["ended_at"], sweep["reason"]) == (None, "extended to 3 trials")
    assert sweep["spec"]["run_cap"] == 1
    assert kinds(service)[-2:] == ["sweep.extended", "sweep.queued"]


def test_stopped_sweep_continues_to_its_cap(client: TestClient, service: ServiceRig) -> None:
    sweep_id = sweep_in(service, FINISHED, run_cap=4)
    service.trial(sweep_id, 0, 0.5)
    assert client.patch(f"{V1}/sweeps/{sweep_id}", json={"run_cap": 4}).json()["state"] == "queued"


@pytest.mark.parametrize("body", [{"priority": 3}, {"run_cap": 1}], ids=str)
def test_finished_sweep_stays_finished_without_remaining_trials(
    client: TestClient, service: ServiceRig, body: dict[str, Any]
) -> None:
    sweep_id = service.sweep(run_cap=1)
    service.trial(sweep_id, 0, 0.5)
    service.end_sweep(sweep_id)
    assert client.patch(f"{V1}/sweeps/{sweep_id}", json=body).json()["state"] == "finished"


def test_running_sweep_at_its_cap_is_queued_when_extended(client: TestClient, service: ServiceRig) -> None:
    sweep_id = sweep_in(service, R, run_cap=1)
    service.trial(sweep_id, 0, None)
    assert client.patch(f"{V1}/sweeps/{sweep_id}", json={"run_cap": 2}).json()["state"] == "queued"
    move(service, sweep_id, R, FINISHED)  # an outdated change of the scheduler
    assert client.get(f"{V1}/sweeps/{sweep_id}").json()["state"] == "queued"


def test_cap_can_only_be_raised(client: TestClient, service: ServiceRig) -> None:
    url = f"{V1}/sweeps/{service.sweep(run_cap=4)}"
    assert_problem(client.patch(url, json={"run_cap": 3}), 409, "run_cap is 4 and can only go up, not down to 3")
    assert client.get(url).json()["run_cap"] == 4


@pytest.mark.parametrize(
    "body",
    [{}, {"run_cap": None}, {"run_cap": 0}, {"run_cap": 10**7}, {"run_cap": "9"}, {"run_cap": 9.5}, {"priority": 0},
     {"priority": 101}, {"priority": -1}, {"priority": True}, {"run_kap": 9}, {"state": "running"}, []],
    ids=str,
)  # fmt: skip
def test_invalid_extension_is_422(client: TestClient, service: ServiceRig, body: Any) -> None:
    assert_problem(client.patch(f"{V1}/sweeps/{service.sweep()}", json=body), 422)


# Roles.


@pytest.mark.parametrize(
    "path", ["sweeps/1/pause", "sweeps/1/resume", "sweeps/1/stop", "trials/1/stop", "trials/1/retry", "trials/1/clone"]
)
def test_viewer_changes_nothing(service: ServiceRig, path: str) -> None:
    service.trial(sweep_in(service, R), 0, None)
    before = kinds(service)
    viewer = service.client(Role.VIEWER)
    assert_problem(viewer.post(f"{V1}/{path}"), 403, "submitter")
    assert_problem(viewer.patch(f"{V1}/sweeps/1", json={"run_cap": 99}), 403, "submitter")
    assert kinds(service) == before


@pytest.mark.parametrize("path", ["sweeps/9/pause", "trials/9/stop", "trials/9/retry", "trials/9/clone"])
def test_unknown_id_is_404(client: TestClient, path: str) -> None:
    assert_problem(client.post(f"{V1}/{path}"), 404, "there is no")


# Budgets.


def spent_sweep(service: ServiceRig, **changes: Any) -> int:
    """A sweep that has finished with one trial, which took 2 s."""
    sweep_id = sweep_in(service, R, run_cap=4, **changes)
    service.trial(sweep_id, 0, 0.5)
    move(service, sweep_id, R, S, FINISHED)
    return sweep_id


@pytest.mark.parametrize(
    ("changes", "words", "less", "more"),
    [
        ({"budget": {"device_s": 1}}, "raise budget.device_s above 2",
         {"budget": {"device_s": 1.5}}, {"budget": {"device_s": 9}}),
        ({"budget": {"plateau": {"trials": 1}}}, "no better value in 1 trial; raise budget.plateau.trials above 1",
         {"budget": {"plateau": {"trials": 1, "min_delta": 0.1}}}, {"budget": {"plateau": None}}),
        ({"metric": {"name": "val_accuracy", "goal": "maximize", "target": 0.4}},
         "target 0.4 reached by trial 0: 0.5; give another target", {"target": 0.5}, {"target": 0.9}),
    ],
    ids=["device_s", "plateau", "target"],
)  # fmt: skip
def test_sweep_with_a_spent_budget_continues_only_with_a_larger_one(
    client: TestClient, service: ServiceRig, changes: Any, words: str, less: Any, more: Any
) -> None:
    sweep_id = spent_sweep(service, **changes)
    if "plateau" in changes.get("budget", {}):
        service.trial(sweep_id, 1, 0.5)
    url = f"{V1}/sweeps/{sweep_id}"
    assert_problem(client.patch(url, json={"run_cap": 9}), 409, words)
    assert client.patch(url, json=less).status_code == 409
    shown = client.get(url).json()
    assert (shown["state"], shown["run_cap"]) == ("finished", 4)
    extended = client.patch(url, json={"run_cap": 9, **more}).json()
    assert (extended["state"], extended["run_cap"]) == ("queued", 9)


def test_budget_shows_its_usage(client: TestClient, service: ServiceRig) -> None:
    sweep_id = spent_sweep(service, budget={"wall_s": 60, "plateau": {"trials": 5, "min_delta": 0.01}})
    shown = client.get(f"{V1}/sweeps/{sweep_id}").json()["budget"]
    assert shown == {
        "wall_s": {"used": 0.0, "allowed": 60.0},
        "device_s": {"used": 2.0, "allowed": None},
        "plateau": {"used": 0, "allowed": 5, "min_delta": 0.01},
        "target": None,
    }
    assert client.get(f"{V1}/sweeps").json()["items"][0]["budget"] is None


def test_each_budget_limit_is_raised_separately_and_removed_by_null(client: TestClient, service: ServiceRig) -> None:
    sweep_id = spent_sweep(service, budget={"device_s": 1, "wall_s": 60})
    raised = client.patch(f"{V1}/sweeps/{sweep_id}", json={"budget": {"device_s": None}}).json()
    assert (raised["state"], raised["reason"]) == ("queued", "its budget was changed")
    assert raised["budget"]["device_s"] == {"used": 2.0, "allowed": None}
    assert raised["budget"]["wall_s"]["allowed"] == 60.0
    assert kinds(service)[-2:] == ["sweep.extended", "sweep.queued"]


@pytest.mark.parametrize("body", [{"budget": {"wal_s": 5}}, {"budget": {"wall_s": 0}}, {"budget": {}}, {"target": "x"}])
def test_invalid_budget_is_422(client: TestClient, service: ServiceRig, body: Any) -> None:
    assert_problem(client.patch(f"{V1}/sweeps/{service.sweep()}", json=body), 422)
