"""Data of the charts over REST: points, curves, importance; with a service of seeded rows."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest

from podium.api.rest.sweeps.importance_process import AnalysisError, ImportanceQueue
from podium.sweep.lifecycle.database_changes import UsageSampled
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Sampled
from podium.sweep.values.usage_samples import UsageSample
from tests.service_rig import AT, ServiceRig, assert_problem

TWO = [{"name": "val_accuracy", "goal": "maximize"}, {"name": "val_loss", "goal": "minimize"}]


def columns(service: ServiceRig, sweep_id: int, **query: Any) -> dict[str, list[Any]]:
    answer = service.client().get(f"/api/v1/sweeps/{sweep_id}/points", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, list[Any]] = answer.json()["columns"]
    assert len({len(column) for column in found.values()}) == 1
    return found


def test_points_are_columns_in_the_order_of_numbers(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    first = service.trial(sweep_id, 0, 0.5, params={"lr": 0.01, "hidden": [8, 16]})  # type: ignore[dict-item]
    service.trial(sweep_id, 1, None, params={"lr": 0.1}, cause=Cause.NON_FINITE)
    service.trial(sweep_id, 2, 0.75, params={"lr": 0.02, "flag": True}, constraints={"size": 1.0})
    found = columns(service, sweep_id)
    assert found["id"][0] == first
    assert found["number"] == [0, 1, 2]
    assert found["state"] == ["finished", "failed", "finished"]
    assert found["value"] == [0.5, None, 0.75]
    assert found["params.lr"] == [0.01, 0.1, 0.02]
    assert found["params.flag"] == [None, None, True]
    assert found["duration_s"] == [2.0, 2.0, 2.0]
    assert found["ended_at"] == [AT + 3] * 3
    assert found["device"] == ["cpu-0"] * 3
    assert found["cause"] == [None, "non_finite", None]
    assert found["feasible"] == [True, True, False]
    assert "pareto" not in found


def test_parts_of_points_have_the_same_trials_and_digest(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number in range(3):
        service.points(service.trial(sweep_id, number, 0.5, params={"lr": 0.1}), "loss", 0.25)
    client = service.client()

    def ask(**query: Any) -> dict[str, Any]:
        answer = client.get(f"/api/v1/sweeps/{sweep_id}/points", params={"metrics": "last(loss)", **query})
        assert answer.headers["content-encoding"] == "gzip"
        found: dict[str, Any] = answer.json()
        return found

    whole, trials, params, metrics = ask(), ask(part="trials"), ask(part="parameters"), ask(part="metrics")
    parts = [trials, params, metrics]
    assert {part["digest"] for part in parts} == {whole["digest"]}
    assert [part["shown"] for part in parts] == [3, 3, 3]
    assert trials["columns"] | params["columns"] | metrics["columns"] == whole["columns"]
    assert (list(params["columns"]), list(metrics["columns"])) == (["params.lr"], ["last(loss)"])
    assert (trials["axes"], params["axes"]) == ([], whole["axes"])
    assert ask(part=["parameters", "metrics"])["columns"] == params["columns"] | metrics["columns"]
    assert ask(filter="number<2")["digest"] != whole["digest"]
    service.trial(sweep_id, 3, None)
    assert ask(part="trials")["digest"] != whole["digest"]


def test_digits_round_parameters_and_figures_and_not_results(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number in range(120):
        exact = (number + 1) / 7
        trial_id = service.trial(sweep_id, number, exact, params={"lr": exact}, model=False)
        service.points(trial_id, "loss", exact)
    found = columns(service, sweep_id, digits=4, metrics="last(loss)")
    expected = [float(f"{(number + 1) / 7:.4g}") for number in range(120)]
    assert found["params.lr"] == expected
    assert found["last(loss)"] == expected
    assert found["value"] == [(number + 1) / 7 for number in range(120)]
    assert columns(service, sweep_id)["params.lr"] == found["value"]


def test_points_have_their_axes_and_objectives(service: ServiceRig) -> None:
    sweep_id = service.sweep(
        parameters={
            "lr": {"min": 1e-4, "max": 0.1, "log": True},
            "layers": {"min": 1, "max": 4},
            "optimizer": {"values": ["sgd", "adam"]},
            "epochs": {"value": 3},
        }
    )
    body = service.client().get(f"/api/v1/sweeps/{sweep_id}/points").json()
    assert (body["matching"], body["shown"], body["columns"]["id"]) == (0, 0, [])
    assert body["objectives"][0]["goal"] == "maximize"
    lr, layers, optimizer, epochs = body["axes"]
    assert (lr["kind"], lr["log"], lr["low"], lr["high"]) == ("number", True, 1e-4, 0.1)
    assert (layers["kind"], layers["log"]) == ("integer", False)
    assert (optimizer["kind"], optimizer["choices"], optimizer["constant"]) == ("choice", ["sgd", "adam"], False)
    assert epochs["constant"] is True


def test_points_have_figures_of_metrics_and_the_last_report_of_trials_without_a_value(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    finished = service.trial(sweep_id, 0, 0.5)
    pruned = service.trial(sweep_id, 1, None)
    service.trial(sweep_id, 2, None)
    service.points(finished, "val_accuracy", 0.4, 0.5)
    service.points(pruned, "val_accuracy", 0.2, 0.1)
    service.points(pruned, 'odd/name "x"', 3.0, 2.0, 4.0)
    query = {"metrics": ['min(odd/name "x")', "last(val_accuracy)", "metrics.missing"]}
    path = f"/api/v1/sweeps/{sweep_id}"
    columns = service.client().get(f"{path}/points", params=query).json()["columns"]
    assert columns["reported"] == [None, 0.1, None]
    assert columns['min(odd/name "x")'] == [None, 2.0, None]
    assert columns["last(val_accuracy)"] == [0.5, 0.1, None]
    assert columns["last(missing)"] == [None] * 3
    assert columns["running_s"][0] == 2.0
    assert [each["name"] for each in service.client().get(f"{path}/metrics").json()] == [
        "val_accuracy",
        'odd/name "x"',
    ]
    problem = service.client().get(f"{path}/points", params={"metrics": "mean(x)"})
    assert_problem(problem, 400, "metrics=mean(x): write one of last(NAME), min(NAME)")


def test_points_follow_the_filter(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number in range(4):
        service.trial(sweep_id, number, number / 10, params={"lr": number + 1.0})
    assert columns(service, sweep_id, filter="lr>2.5")["number"] == [2, 3]
    client = service.client()
    assert_problem(client.get(f"/api/v1/sweeps/{sweep_id}/points", params={"filter": "nope<3"}), 400, "nope")
    assert_problem(client.get("/api/v1/sweeps/99/points"), 404, "99")


def test_sample_keeps_the_best_and_distributes_the_rest(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number in range(300):
        service.trial(sweep_id, number, float((number * 7) % 300), model=False)  # each once
    answer = service.client().get(f"/api/v1/sweeps/{sweep_id}/points", params={"max": 100}).json()
    assert (answer["matching"], answer["shown"]) == (300, 100)
    numbers, values = answer["columns"]["number"], answer["columns"]["value"]
    assert numbers == sorted(set(numbers))
    assert set(range(250, 300)) <= set(values)
    rest = [number for number, value in zip(numbers, values, strict=True) if value < 250]
    assert len(rest) == 50
    assert max(b - a for a, b in pairwise(rest)) <= 15


def test_pareto_front_of_several_objectives_is_marked(service: ServiceRig) -> None:
    sweep_id = service.sweep(metric=None, metrics=TWO)
    for number, values in enumerate([(0.9, 5.0), (0.8, 1.0), (0.7, 2.0), (0.95, 9.0)]):
        service.trial(sweep_id, number, values)
    service.trial(sweep_id, 4, (0.99, 0.1), constraints={"size": 2.0})
    found = columns(service, sweep_id)
    assert found["values.val_loss"] == [5.0, 1.0, 2.0, 9.0, 0.1]
    assert found["pareto"] == [True, True, False, True, False]


def test_curves_of_the_objective_come_first_with_the_best_trials_first(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    metric = service.client().get(f"/api/v1/sweeps/{sweep_id}").json()["spec"]["metric"]["name"]
    for number, value in enumerate([0.1, 0.3, None]):
        trial_id = service.trial(sweep_id, number, value)
        service.points(trial_id, metric, 1.0, 0.5)
        service.points(trial_id, "alpha", 3.0)
    service.trial(sweep_id, 3, 0.0)  # this trial has no reports
    service.points(service.trial(sweep_id, 4, None, cause=Cause.NON_FINITE), metric, math.nan)  # and this one no curve
    client = service.client()
    body = client.get(f"/api/v1/sweeps/{sweep_id}/curves").json()
    assert (body["metrics"], body["metric"], body["matching"]) == ([metric, "alpha"], metric, 3)
    assert body["goal"] == "maximize"
    assert [curve["number"] for curve in body["curves"]] == [2, 1, 0]
    assert (body["curves"][0]["state"], body["curves"][0]["steps"]) == ("running", [0, 1])
    assert body["curves"][1]["values"] == [1.0, 0.5]
    query: dict[str, str | int] = {"metric": "alpha", "filter": "state:finished", "limit": 1}
    only = client.get(f"/api/v1/sweeps/{sweep_id}/curves", params=query).json()
    assert (only["metric"], only["matching"], [curve["number"] for curve in only["curves"]]) == ("alpha", 2, [1])


def test_long_curve_is_thinned_and_marked(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    trial_id = service.trial(sweep_id, 0, 0.3)
    service.points(trial_id, "loss", *[float(step == 77) for step in range(200)])
    query: dict[str, str | int] = {"metric": "loss", "max_points": 20}
    (curve,) = service.client().get(f"/api/v1/sweeps/{sweep_id}/curves", params=query).json()["curves"]
    assert curve["points"] == 200
    assert len(curve["steps"]) <= 20
    assert max(curve["values"]) == 1.0


def test_sweep_without_reports_has_no_curves(service: ServiceRig) -> None:
    body = service.client().get(f"/api/v1/sweeps/{service.sweep()}/curves").json()
    assert body == {"metrics": [], "metric": None, "goal": None, "matching": 0, "curves": []}


class FakeEvaluator:
    """Replaces the process: counts its calls, and returns a prepared answer."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.refuses = ""

    def __call__(self, document: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(document)
        if self.refuses:
            raise AnalysisError(self.refuses)
        return {"importances": {"lr": 0.8, "width": 0.2}, "left_out": {"momentum": "active in only 1 of 12 trials"}}


@pytest.fixture
def evaluator() -> FakeEvaluator:
    return FakeEvaluator()


class Importance:
    """A client of the importance of one sweep, and its replaced process."""

    def __init__(self, service: ServiceRig, sweep_id: int, evaluator: FakeEvaluator) -> None:
        app = service.app()
        self.queue = app.state.importances = ImportanceQueue(service.database, evaluator)
        self.client = service.client(app=app)
        self.path = f"/api/v1/sweeps/{sweep_id}/importance"

    def ask(self, **query: str) -> dict[str, Any]:
        answer: dict[str, Any] = self.client.get(self.path, params=query).json()
        self.queue.join()
        return answer


def test_importance_is_computed_once_and_cached(service: ServiceRig, evaluator: FakeEvaluator) -> None:
    sweep_id = service.sweep()
    importance = Importance(service, sweep_id, evaluator)
    assert importance.ask()["state"] == "too_few"
    for number in range(12):
        service.trial(sweep_id, number, number / 10, params={"lr": number / 100}, model=False)
    first = importance.ask()
    assert (first["state"], first["importances"]) == ("computing", None)
    found = importance.ask()
    assert (found["state"], found["as_of"], found["trials"]) == ("ready", 12, 12)
    assert found["importances"] == {"lr": 0.8, "width": 0.2}
    assert found["left_out"] == {"momentum": "active in only 1 of 12 trials"}
    assert len(evaluator.asked) == 1
    assert evaluator.asked[0]["trials"][1] == {"params": {"lr": 0.01}, "value": 0.1}
    assert "lr" in evaluator.asked[0]["parameters"]


def test_importance_is_computed_again_after_enough_new_trials(service: ServiceRig, evaluator: FakeEvaluator) -> None:
    sweep_id = service.sweep()
    importance = Importance(service, sweep_id, evaluator)
    for number in range(12):
        service.trial(sweep_id, number, number / 10, model=False)
    importance.ask()
    service.trial(sweep_id, 12, 0.5, model=False)
    assert importance.ask()["state"] == "ready"
    for number in range(13, 17):
        service.trial(sweep_id, number, 0.5, model=False)
    again = importance.ask()
    assert (again["state"], again["as_of"], again["finished"]) == ("computing", 12, 17)
    assert again["importances"] is not None
    assert importance.ask()["as_of"] == 17
    service.trial(sweep_id, 17, 0.6, model=False)
    service.end_sweep(sweep_id)
    assert importance.ask()["state"] == "computing"
    assert importance.ask()["as_of"] == 18


def test_failed_importance_has_a_reason_and_is_not_retried(service: ServiceRig, evaluator: FakeEvaluator) -> None:
    sweep_id = service.sweep()
    importance = Importance(service, sweep_id, evaluator)
    for number in range(10):
        service.trial(sweep_id, number, 1.0, model=False)
    evaluator.refuses = "all trials have the same value"
    importance.ask()
    for _ in range(3):
        found = importance.ask()
        assert (found["state"], found["reason"]) == ("failed", "all trials have the same value")
    assert len(evaluator.asked) == 1


def test_points_have_peak_memory_if_a_trial_was_measured(service: ServiceRig, evaluator: FakeEvaluator) -> None:
    sweep_id = service.sweep()
    trials = [service.trial(sweep_id, number, 0.5) for number in range(2)]
    path = f"/api/v1/sweeps/{sweep_id}/points"
    assert "peak_memory_mb" not in service.client().get(path).json()["columns"]
    sample = UsageSample(AT + 1, 1.0, 0.5, 300 << 20, 0, 0)
    service.commit(UsageSampled(Sampled(AttemptKey(trials[1], 1), (sample,), 0, None, None)))
    columns = service.client().get(path).json()["columns"]
    assert columns["peak_memory_mb"] == [None, 300.0]
    assert "peak_gpu_memory_mb" not in columns
    assert Importance(service, sweep_id, evaluator).ask(metric="peak_memory_mb")["finished"] == 1


def test_importance_target_is_an_objective_or_the_duration(service: ServiceRig, evaluator: FakeEvaluator) -> None:
    sweep_id = service.sweep(metric=None, metrics=TWO)
    importance = Importance(service, sweep_id, evaluator)
    for number in range(10):
        service.trial(sweep_id, number, (0.5, number * 2.0), model=False)
    assert importance.ask(metric="val_loss")["state"] == "computing"
    assert importance.ask(metric="duration_s")["state"] == "computing"
    service.points(4, "size", 3.0, 1.0)
    assert importance.ask(metric="running_s")["state"] == "computing"
    assert importance.ask(metric="min(size)")["finished"] == 1
    assert [asked["trials"][3]["value"] for asked in evaluator.asked] == [6.0, 2.0, 2.0]
    problem = importance.client.get(importance.path, params={"metric": "speed"})
    assert_problem(problem, 400, "val_accuracy, val_loss, running_s, duration_s")
