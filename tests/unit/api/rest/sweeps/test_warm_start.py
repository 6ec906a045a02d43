"""Warm starts: which earlier trials are used, omitted, and refused."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from podium.api.cli.terminal import sweep_output
from podium.db.stores import warm_starts
from podium.sweep.lifecycle.database_changes import AttemptEnded
from podium.sweep.lifecycle.stored_sweeps import EarlierTrial
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import TrialState
from tests.service_rig import AT, ServiceRig, assert_problem
from tests.specs import builtin_document

URL = "/api/v1/sweeps"


@pytest.fixture
def earlier(service: ServiceRig) -> ServiceRig:
    """Sweep 1: finished trials 1 and 2 (with a rate outside some spaces), pruned trial 3, running trial 4."""
    sweep_id = service.sweep(early_terminate={"type": "median"})
    service.trial(sweep_id, 0, 0.5, params={"lr": 0.01})
    service.trial(sweep_id, 1, 0.9, params={"lr": 0.1}, constraints={"size": 1.0})
    service.points(service.trial(sweep_id, 2, None, params={"lr": 0.001}), "val_accuracy", 0.1, 0.2)
    pruned = Ended(AttemptKey(3, 1), TrialState.PRUNED, AT + 1, AT + 3, exit="0")
    service.commit(AttemptEnded(pruned, sweep_id, 2, TrialState.PRUNED))
    service.trial(sweep_id, 3, None, params={"lr": 0.02})
    return service


def submit(client: TestClient, **changes: Any) -> dict[str, Any]:
    answer = client.post(URL, json=builtin_document(method="tpe", **changes))
    assert answer.status_code == 201, answer.text
    sweep: dict[str, Any] = answer.json()
    return sweep


def given(service: ServiceRig, sweep_id: int) -> tuple[EarlierTrial, ...]:
    """The warm start as read by the scheduler."""
    return service.stored(sweep_id).earlier


def test_compatible_terminal_trials_are_given_to_the_search(earlier: ServiceRig) -> None:
    sweep = submit(earlier.client(), warm_start=[1])
    assert sweep["warm_start"] == {"trials": 3, "dropped": 0, "why": [], "left_out": 0}
    assert sweep["counts"] == {}
    assert given(earlier, sweep["id"]) == (
        EarlierTrial(1, TrialState.FINISHED, {"lr": 0.01}, (0.5,)),
        EarlierTrial(2, TrialState.FINISHED, {"lr": 0.1}, (0.9,), None, {"size": 1.0}),
        EarlierTrial(3, TrialState.PRUNED, {"lr": 0.001}, None, (1, 0.2)),
    )


def test_warm_start_is_fixed_when_the_earlier_sweep_continues(earlier: ServiceRig) -> None:
    sweep = submit(earlier.client(), warm_start=[1])
    before = given(earlier, sweep["id"])
    earlier.trial(1, 4, 0.7)
    assert given(earlier, sweep["id"]) == before


def test_incompatible_trials_are_omitted_counted_and_reported(earlier: ServiceRig) -> None:
    parameters = {"lr": {"min": 1e-4, "max": 0.05}, "epochs": {"value": 3}}
    sweep = submit(earlier.client(), warm_start=[1], parameters=parameters)
    assert sweep["warm_start"] == {"trials": 0, "dropped": 3, "why": [
        "epochs: missing", "lr: must be between 0.0001 and 0.05, got 0.1",
    ], "left_out": 0}  # fmt: skip
    assert given(earlier, sweep["id"]) == ()
    assert sweep_output.warm_start(sweep["warm_start"]) == (
        "starts from 0 trials of earlier sweeps; 3 do not fit its parameters "
        "(epochs: missing; lr: must be between 0.0001 and 0.05, got 0.1)"
    )


def started(service: ServiceRig, max_trials: int, **changes: Any) -> dict[str, Any]:
    """A new sweep whose warm start has at most this many trials."""
    sweep_id = service.sweep(method="tpe", **changes)
    with service.database.write() as connection:
        spec = parse_spec(builtin_document(method="tpe", **changes))
        chosen = warm_starts.select_for(connection, spec, max_trials)
        assert chosen is not None
        warm_starts.add(connection, sweep_id, chosen)
    sweep: dict[str, Any] = service.client().get(f"{URL}/{sweep_id}").json()
    return sweep


def test_best_half_and_the_newest_are_used_above_the_limit(earlier: ServiceRig) -> None:
    for number, value in enumerate([0.1, 0.8, 0.2, 0.3, 0.4], start=4):
        earlier.trial(1, number, value)
    sweep = started(earlier, 4, warm_start=[1])
    assert sweep["warm_start"] == {"trials": 4, "dropped": 0, "why": [], "left_out": 4}
    assert [trial.trial_id for trial in given(earlier, sweep["id"])] == [1, 6, 8, 9], "2 violates a constraint"
    assert sweep_output.warm_start(sweep["warm_start"]).endswith(
        "; 4 more were left out: neither among the best nor the newest"
    )


def test_best_of_each_objective_are_used_above_the_limit(service: ServiceRig) -> None:
    metrics = [{"name": "val_accuracy", "goal": "maximize"}, {"name": "val_loss", "goal": "minimize"}]
    sweep_id = service.sweep(metric=None, metrics=metrics)
    for number, values in enumerate([(0.9, 9.0), (0.1, 0.1), (0.5, 5.0), (0.4, 4.0), (0.3, 3.0), (0.2, 2.0)]):
        service.trial(sweep_id, number, values)
    sweep = started(service, 5, metric=None, metrics=metrics, warm_start=[sweep_id])
    assert [trial.trial_id for trial in given(service, sweep["id"])] == [1, 2, 4, 5, 6]


def test_removed_parameters_are_ignored(earlier: ServiceRig) -> None:
    earlier.sweep(parameters={"lr": {"min": 1e-4, "max": 0.1}, "hidden": {"min": 8, "max": 64}})
    earlier.trial(2, 0, 0.6, params={"lr": 0.03, "hidden": 16})
    sweep = submit(earlier.client(), warm_start=[2, 1])
    assert sweep["warm_start"]["trials"] == 4


def test_sweep_without_warm_start_reports_none(client: TestClient) -> None:
    assert submit(client)["warm_start"] is None


def test_number_and_goals_of_objectives_must_agree(earlier: ServiceRig) -> None:
    metrics = [{"name": "val_accuracy", "goal": "maximize"}, {"name": "val_loss", "goal": "minimize"}]
    several = submit(earlier.client(), metric=None, metrics=metrics)
    earlier.trial(several["id"], 0, (0.5, 2.0))
    assert given(earlier, submit(earlier.client(), metric=None, metrics=metrics, warm_start=[2])["id"]) == (
        EarlierTrial(5, TrialState.FINISHED, {"lr": 0.01}, (0.5, 2.0)),
    )
    answer = earlier.client().post(URL, json=builtin_document(method="tpe", warm_start=[1, 2]))
    said = "warm_start.1: sweep 2 has other goals (maximize val_accuracy, minimize val_loss) than this sweep (maximize"
    assert_problem(answer, 422, said)


def test_unknown_sweep_is_named(earlier: ServiceRig) -> None:
    answer = earlier.client().post(URL, json=builtin_document(method="tpe", warm_start=[1, 7]))
    assert_problem(answer, 422, "warm_start.1: there is no sweep 7")


@pytest.mark.parametrize(
    ("warm_start", "method", "said"),
    [
        ([1], "random", "method: random does not use earlier trials"),
        ([1], "qmc", "qmc does not use earlier trials"),
        ([1, 1], "tpe", "duplicate sweep id 1"),
        ([0], "tpe", "warm_start.0"),
        (["1"], "tpe", "warm_start.0"),
    ],
)
def test_invalid_warm_start_is_refused(earlier: ServiceRig, warm_start: list[Any], method: str, said: str) -> None:
    answer = earlier.client().post(URL, json=builtin_document(method=method, warm_start=warm_start))
    assert_problem(answer, 422, said)


def test_same_key_returns_the_same_sweep_after_more_trials(earlier: ServiceRig) -> None:
    client, document = earlier.client(), builtin_document(method="tpe", warm_start=[1])
    first = client.post(URL, json=document, headers={"Idempotency-Key": "once"}).json()
    earlier.trial(1, 4, 0.7)
    again = client.post(URL, json=document, headers={"Idempotency-Key": "once"})
    assert (again.status_code, again.json()["id"]) == (200, first["id"])
    assert again.json()["warm_start"] == first["warm_start"]
