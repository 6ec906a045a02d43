"""The grid of curves over REST: several metrics, other x axes, groups, marks, and the size of a response."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from podium.sweep.lifecycle.database_changes import MetricPoint
from podium.sweep.values.attempt_assignment import AttemptKey
from tests.service_rig import AT, ServiceRig, assert_problem


def grid(service: ServiceRig, sweep_id: int, *metrics: str, **query: Any) -> dict[str, Any]:
    answer = service.client().get(f"/api/v1/sweeps/{sweep_id}/curve-grid", params={"metric": metrics, **query})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def logged(service: ServiceRig, trial_id: int, name: str, *points: tuple[int, float, float]) -> None:
    """Points of (step, value, seconds after the start of the rig's attempts)."""
    key = AttemptKey(trial_id, 1)
    service.commit(*(MetricPoint(key, name, step, value, AT + 1 + s) for step, value, s in points))


def test_metrics_are_named_with_the_objective_first(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    objective = service.client().get(f"/api/v1/sweeps/{sweep_id}").json()["spec"]["metric"]["name"]
    for number in range(30):
        trial_id = service.trial(sweep_id, number, 0.5)
        service.points(trial_id, "train/loss", 1.0)
        service.points(trial_id, objective, 1.0)
    service.points(trial_id, "only/nan", math.nan)
    service.points(trial_id, "a", 1.0)
    names = service.client().get(f"/api/v1/sweeps/{sweep_id}/metrics").json()
    assert names[0] == {"name": objective, "goal": "maximize"}
    assert [each["name"] for each in names[1:]] == ["a", "only/nan", "train/loss"]


def test_several_metrics_have_the_same_trials(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number, value in enumerate([0.1, 0.3, None]):
        trial_id = service.trial(sweep_id, number, value)
        service.points(trial_id, "a", 1.0, 0.5)
    service.points(trial_id, "b", 3.0)
    service.trial(sweep_id, 3, 0.9)  # reports nothing
    service.points(service.trial(sweep_id, 4, 0.9), "other", 1.0)
    found = grid(service, sweep_id, "a", "b", "missing")
    assert (found["x"], found["matching"], found["groups"]) == ("step", 3, ["all trials"])
    assert [trial["number"] for trial in found["trials"]] == [2, 1, 0]
    a, b, missing = found["panels"]
    assert [(line["trial"], line["x"], line["y"]) for line in a["lines"]] == [(n, [0, 1], [1.0, 0.5]) for n in range(3)]
    assert [(line["trial"], line["y"]) for line in b["lines"]] == [(0, [3.0])]
    assert missing["lines"] == []


def test_x_is_time_running_time_or_another_metric(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    trial_id = service.trial(sweep_id, 0, 0.5)
    logged(service, trial_id, "loss", (0, 4.0, 0.25), (10, 2.0, 0.5), (20, 1.0, 1.5))
    logged(service, trial_id, "epoch", (0, 0.0, 0.25), (20, 1.0, 1.5))
    service.points(trial_id, "odd", math.inf)
    start = service.client().get(f"/api/v1/trials/{trial_id}/attempts").json()[0]["started_at"]
    assert start

    def line(x: str) -> tuple[list[float], list[float]]:
        (found,) = grid(service, sweep_id, "loss", x=x)["panels"][0]["lines"]
        return found["x"], found["y"]

    assert line("step") == ([0, 10, 20], [4.0, 2.0, 1.0])
    assert line("time") == ([AT + 1.25, AT + 1.5, AT + 2.5], [4.0, 2.0, 1.0])
    assert line("runtime") == ([0.25, 0.5, 1.5], [4.0, 2.0, 1.0])
    assert line("metric:epoch") == ([0, 1], [4.0, 1.0])
    assert grid(service, sweep_id, "loss", x="metric:epoch")["panels"][0]["without_x"] == 1
    path = f"/api/v1/sweeps/{sweep_id}/curve-grid"
    for wrong in ("metric:", "speed"):
        problem = service.client().get(path, params={"metric": "loss", "x": wrong})
        assert_problem(problem, 400, "step, time, runtime or metric:NAME")


def test_reports_that_are_not_finite_are_marks(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    trial_id = service.trial(sweep_id, 0, 0.5)
    service.points(trial_id, "loss", 1.0, math.nan, 0.5, math.inf, -math.inf)
    (panel,) = grid(service, sweep_id, "loss")["panels"]
    assert panel["lines"][0]["y"] == [1.0, 0.5]
    marks = [(mark["trial"], mark["x"], mark["value"]) for mark in panel["marks"]]
    assert marks == [(0, 1.0, "nan"), (0, 3.0, "inf"), (0, 4.0, "-inf")]


@pytest.mark.parametrize(
    ("by", "labels", "groups"),
    [
        ("params.optimizer", ["adam", "sgd", "not set"], [1, 0, 1, 2]),
        ("tag", ["a, b", "no tag"], [1, 0, 1, 1]),
        ("state", ["finished"], [0, 0, 0, 0]),
    ],
)
def test_trials_are_grouped(service: ServiceRig, by: str, labels: list[str], groups: list[int]) -> None:
    sweep_id = service.sweep()
    for number, optimizer in enumerate(["sgd", "adam", "sgd", None]):
        params: dict[str, Any] = {} if optimizer is None else {"optimizer": optimizer}
        trial_id = service.trial(sweep_id, number, 1.0 - number / 10, params=params)
        service.points(trial_id, "loss", float(number))
        if number == 1:
            service.client().patch(f"/api/v1/trials/{trial_id}", json={"add_tags": ["b", "a"]})
    found = grid(service, sweep_id, "loss", group=by)
    assert found["groups"] == labels
    assert [trial["group"] for trial in found["trials"]] == groups
    path = f"/api/v1/sweeps/{sweep_id}/curve-grid"
    assert_problem(
        service.client().get(path, params={"metric": "loss", "group": "x"}), 400, "params.NAME, tag or state"
    )


def test_many_different_numbers_are_grouped_into_ranges(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number in range(50):
        service.points(service.trial(sweep_id, number, 0.5, params={"lr": number / 10}, model=False), "loss", 1.0)
    found = grid(service, sweep_id, "loss", group="params.lr")
    assert found["groups"] == ["0 to 1", "1 to 2", "2 to 2.9", "2.9 to 3.9", "3.9 to 4.9"]
    counts = [[trial["group"] for trial in found["trials"]].count(group) for group in range(5)]
    assert min(counts) >= 9 and sum(counts) == 50


def test_bands_combine_the_trials_of_a_group(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number in range(4):
        trial_id = service.trial(sweep_id, number, 0.5, params={"optimizer": "sgd" if number else "adam"})
        service.points(trial_id, "loss", float(number), 10.0 * number)
    (panel,) = grid(service, sweep_id, "loss", group="params.optimizer", show="bands")["panels"]
    assert panel["lines"] == []
    adam, sgd = panel["bands"]
    assert (adam["group"], adam["trials"], adam["mean"]) == (0, 1, [0.0, 0.0])
    assert (sgd["group"], sgd["trials"], sgd["x"], sgd["curves"]) == (1, 3, [0, 1], [3, 3])
    assert (sgd["mean"], sgd["low"], sgd["high"]) == ([2.0, 20.0], [1.0, 10.0], [3.0, 30.0])


def test_response_of_many_long_curves_is_small(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number in range(40):
        trial_id = service.trial(sweep_id, number, 0.5, model=False)
        for name in ("a", "b"):
            service.points(trial_id, name, *(math.sin(step * number / 7) / 3 for step in range(900)))
    query: dict[str, Any] = {"metric": ["a", "b"], "max_points": 800}
    with service.client().stream("GET", f"/api/v1/sweeps/{sweep_id}/curve-grid", params=query) as answer:
        packed = b"".join(answer.iter_raw())
        assert answer.headers["content-encoding"] == "gzip"
    assert len(packed) < 200_000
    found = grid(service, sweep_id, "a", "b", max_points=800)
    assert found["max_points"] == 250
    assert all(len(line["x"]) <= 250 and line["points"] == 900 for line in found["panels"][0]["lines"])
    plain = service.client().get(
        f"/api/v1/sweeps/{sweep_id}/curve-grid", params=query, headers={"Accept-Encoding": "identity"}
    )
    assert "content-encoding" not in plain.headers
    assert json.loads(plain.content) == found


def test_part_of_the_axis_is_sent_in_full(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    trial_id = service.trial(sweep_id, 0, 0.5)
    service.points(trial_id, "loss", *map(float, range(900)))
    (line,) = grid(service, sweep_id, "loss", x_min=100, x_max=110, max_points=50)["panels"][0]["lines"]
    assert line["x"] == list(range(99, 112))


def test_values_beyond_float32_are_exact(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    service.points(service.trial(sweep_id, 0, 0.5), "loss", 1e300, 1e-200, 0.0)
    (line,) = grid(service, sweep_id, "loss")["panels"][0]["lines"]
    assert line["y"] == [1e300, 1e-200, 0.0]
