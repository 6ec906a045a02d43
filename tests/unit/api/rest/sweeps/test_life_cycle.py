"""The life cycle over REST: every command in every state, repeated and concurrent, and the content of refusals."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest
from starlette.testclient import TestClient

from podium.db.access.tokens import Role
from podium.db.stores import events, stored_trials
from podium.sweep.lifecycle.allowed_commands import POSSIBLE_FOR_SWEEP, POSSIBLE_FOR_TRIAL
from podium.sweep.lifecycle.scheduler_changes import (
    AttemptEnded,
    AttemptPlaced,
    DeviceChanged,
    ParamDefined,
    SweepChanged,
    TrialDropped,
    TrialPlanned,
    TrialRetried,
)
from podium.sweep.values.device_state import DeviceState
from podium.sweep.values.trial import SWEEP_TRANSITIONS, AttemptKey, Cause, Ended, SweepState, TrialState
from tests.service_rig import AT, ServiceRig, assert_problem

V1 = "/api/v1"
Q, R, P, S = SweepState.QUEUED, SweepState.RUNNING, SweepState.PAUSED, SweepState.STOPPING
FINISHED, FAILED, CANCELLED = SweepState.FINISHED, SweepState.FAILED, SweepState.CANCELLED
PATHS = {
    Q: [Q], R: [Q, R], P: [Q, R, P], S: [Q, R, S],
    FINISHED: [Q, R, FINISHED], FAILED: [Q, R, FAILED], CANCELLED: [Q, R, CANCELLED],
}  # fmt: skip

# The state that follows a command in each state; in a missing state the command is 409.
SWEEP_COMMANDS: dict[str, dict[SweepState, SweepState]] = {
    "pause": {Q: P, R: P, P: P},
    "resume": {Q: Q, R: R, P: R},
    "stop": {Q: S, R: S, P: S, S: S},
    "cancel": {Q: CANCELLED, R: CANCELLED, P: CANCELLED, S: CANCELLED, CANCELLED: CANCELLED},
    "extend": {Q: Q, R: R, P: P, S: Q, FINISHED: Q},
}


def sweep_in(service: ServiceRig, state: SweepState, **changes: Any) -> int:
    """A sweep brought to a state by the same changes as the scheduler's."""
    sweep_id = service.sweep(**changes)
    move(service, sweep_id, *PATHS[state])
    return sweep_id


def move(service: ServiceRig, sweep_id: int, *path: SweepState) -> None:
    for old, new in pairwise(path):
        service.commit(SweepChanged(sweep_id, old, new, f"made {new}", AT))


def trial_in(service: ServiceRig, sweep_id: int, number: int, state: TrialState) -> int:
    """A trial brought to a state with one attempt, or without one if it waits."""
    if state is TrialState.WAITING:
        trial_id = 100 + number
        service.commit(TrialPlanned(trial_id, sweep_id, number, {"lr": 0.01}, "random", {}, AT))
        return trial_id
    trial_id = service.trial(sweep_id, number, None, model=False)
    if state is not TrialState.RUNNING:
        end_attempt(service, AttemptKey(trial_id, 1), sweep_id, number, state)
    return trial_id


def end_attempt(service: ServiceRig, key: AttemptKey, sweep_id: int, number: int, state: TrialState) -> None:
    cause = Cause.USER_ERROR if state is TrialState.FAILED else None
    value = 0.5 if state is TrialState.FINISHED else None
    ended = Ended(key, state, AT + 1, AT + 3, value=value, cause=cause, log_tail="the end")
    service.commit(AttemptEnded(ended, sweep_id, number, state))


def tell(client: TestClient, sweep_id: int, command: str) -> Any:
    url = f"{V1}/sweeps/{sweep_id}"
    return client.patch(url, json={"run_cap": 9}) if command == "extend" else client.post(f"{url}/{command}")


def kinds(service: ServiceRig) -> list[str]:
    with service.database.read() as connection:
        return [event["kind"] for event in events.after(connection, 0)]


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


# Trials.

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


def test_each_failure_can_be_retried_once(client: TestClient, service: ServiceRig) -> None:
    sweep_id = sweep_in(service, R)
    trial_id = trial_in(service, sweep_id, 0, TrialState.FAILED)
    url = f"{V1}/trials/{trial_id}/retry"
    with ThreadPoolExecutor(4) as pool:
        assert {answer.status_code for answer in pool.map(lambda _: client.post(url), range(8))} == {200}
    service.commit(TrialRetried(trial_id, sweep_id, 0, AT))
    assert client.post(url).json()["requested"] is None  # it waits again, so it cannot be retried
    key = AttemptKey(trial_id, 2)
    service.commit(AttemptPlaced(key, sweep_id, 0, "cpu-0", "node", AT))
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
        distributions = [added.distributions for added in stored_trials.enqueued(connection)]
    assert distributions == [{"width": {"min": 8, "max": 64}}] * 2


def test_same_key_returns_its_clone_after_the_end_of_the_sweep(client: TestClient, service: ServiceRig) -> None:
    sweep_id = sweep_in(service, R)
    url = f"{V1}/trials/{service.trial(sweep_id, 0, 0.5)}/clone"
    added = client.post(url, headers={"Idempotency-Key": "once"}).json()
    tell(client, sweep_id, "cancel")
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


# Devices.


def test_device_is_drained_and_returned(client: TestClient, service: ServiceRig) -> None:
    service.device()
    url = f"{V1}/devices/cpu-0"
    drained = [client.post(f"{url}/drain").json() for _ in range(2)]
    assert [(d["state"], d["reason"]) for d in drained] == [("set aside", "drained on request")] * 2
    assert client.get(f"{V1}/devices").json() == [drained[0]]
    returned = [client.post(f"{url}/return").json() for _ in range(2)]
    assert [(d["state"], d["reason"]) for d in returned] == [("ready", "")] * 2
    assert [kind for kind in kinds(service) if kind in ("device.set_aside", "device.returned")] == [
        "device.set_aside", "device.returned",
    ]  # fmt: skip


def test_drain_keeps_its_first_reason(client: TestClient, service: ServiceRig) -> None:
    service.device()
    for reason in ("a new card comes", "another"):
        found = client.post(f"{V1}/devices/cpu-0/drain", json={"reason": reason}).json()
        assert (found["state"], found["reason"]) == ("set aside", "a new card comes")
    assert_problem(client.post(f"{V1}/devices/cpu-0/drain", json={"reason": ""}), 422)


def test_busy_device_is_drained_while_its_trial_runs(client: TestClient, service: ServiceRig) -> None:
    service.device()
    trial_id = service.trial(sweep_in(service, R), 0, None)
    found = client.post(f"{V1}/devices/cpu-0/drain").json()
    assert (found["state"], found["trial_id"]) == ("set aside", trial_id)
    service.commit(
        DeviceChanged("cpu-0", "cpu", 0, "node", "", None, 99, DeviceState.DRAINED, "drained on request", AT)
    )
    found = client.post(f"{V1}/devices/cpu-0/return").json()
    assert (found["state"], found["reason"]) == ("busy", "")


def test_reason_of_an_idle_or_lost_device_is_shown(client: TestClient, service: ServiceRig) -> None:
    for state, reason in (("ready", "no sweep has a trial for it"), ("lost", "its slot died"), ("dedicated", "for e")):
        service.commit(DeviceChanged("cpu-0", "cpu", 0, "node", "", None, 99, DeviceState(state), reason, AT))
        (found,) = client.get(f"{V1}/devices").json()
        assert (found["state"], found["reason"]) == (state, reason)


@pytest.mark.parametrize("command", ["drain", "return"])
def test_unknown_device_is_404_and_names_the_known_ones(client: TestClient, service: ServiceRig, command: str) -> None:
    assert_problem(client.post(f"{V1}/devices/gpu-9/{command}"), 404, "known: none yet")
    service.device()
    assert_problem(client.post(f"{V1}/devices/gpu-9/{command}"), 404, "no device 'gpu-9'; known: cpu-0")


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


@pytest.mark.parametrize("command", ["drain", "return"])
def test_devices_require_the_role_admin(service: ServiceRig, command: str) -> None:
    service.device()
    assert_problem(service.client(Role.SUBMITTER).post(f"{V1}/devices/cpu-0/{command}"), 403, "admin")


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
