"""Several objectives, constraints and user attributes over REST and the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from podium.api.cli.terminal import sweep_output
from podium.api.client.client import Client
from podium.db.stores import member_candidates
from podium.sweep.values.states import TrialState
from tests.commands import Podium
from tests.service_rig import ServiceRig, assert_problem
from tests.specs import builtin_document
from tests.unit.api.cli.test_app import FollowedClient

URL = "/api/v1/sweeps/1"
METRICS = [{"name": "val_accuracy", "goal": "maximize"}, {"name": "val_loss", "goal": "minimize"}]
# Accuracy and loss. Trials 0, 1 and 2 are the Pareto front; 1 dominates 3, and 1 and 3 dominate 4; 5 is infeasible.
VALUES = [(0.7, 0.1), (0.8, 0.2), (0.9, 0.5), (0.75, 0.25), (0.75, 0.3), (0.99, 0.01)]


@pytest.fixture
def several(service: ServiceRig) -> ServiceRig:
    """A sweep with two objectives, six finished trials and a running one."""
    service.device()
    sweep_id = service.sweep(metric=None, metrics=METRICS, run_cap=7)
    for number, values in enumerate(VALUES):
        constraints = {"megabytes": 3.5, "age": -1.0} if number == 5 else {}
        service.trial(sweep_id, number, values, params={"lr": 10.0 ** -(number + 1)}, constraints=constraints)
    service.trial(sweep_id, 6, None)
    return service


@pytest.fixture
def served(several: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServiceRig]:
    """The same service, found by every command."""
    monkeypatch.setattr(Client, "of", lambda _: FollowedClient(several))
    yield several


def numbers(client: TestClient, query: str) -> list[int]:
    return [trial["number"] for trial in client.get(f"{URL}/trials?{query}").json()["items"]]


def test_trial_has_a_value_for_each_objective(several: ServiceRig) -> None:
    finished, running = (several.client().get(f"/api/v1/trials/{trial_id}").json() for trial_id in (1, 7))
    assert (finished["value"], finished["values"]) == (0.7, {"val_accuracy": 0.7, "val_loss": 0.1})
    assert list(finished["values"]) == ["val_accuracy", "val_loss"]
    assert (running["value"], running["values"], running["constraints"]) == (None, None, {})


def test_trial_of_one_objective_has_a_single_value(service: ServiceRig) -> None:
    service.trial(service.sweep(), 0, 0.5)
    trial = service.client().get("/api/v1/trials/1").json()
    assert (trial["value"], trial["values"]) == (0.5, None)
    sweep = service.client().get(URL).json()
    assert (sweep["best"]["values"], sweep["best"]["pareto"]) == (None, None)


def test_best_trials_are_the_pareto_front_and_the_first_objective_decides(several: ServiceRig) -> None:
    client = several.client()
    front = client.get(f"{URL}/best").json()
    assert [(trial["number"], trial["pareto"]) for trial in front] == [(2, True), (1, True), (0, True)]
    five = client.get(f"{URL}/best?k=5").json()
    assert [(t["number"], t["pareto"]) for t in five] == [(2, True), (1, True), (0, True), (3, False), (4, False)]
    best = client.get(URL).json()["best"]
    assert (best["number"], best["values"], best["pareto"]) == (2, {"val_accuracy": 0.9, "val_loss": 0.5}, True)


def test_second_objective_decides_between_equal_first_values(several: ServiceRig) -> None:
    several.trial(1, 7, (0.9, 0.4))
    best = several.client().get(URL).json()["best"]
    assert best["number"] == several.client().get(f"{URL}/best").json()[0]["number"] == 7


def test_sweep_without_results_has_an_empty_front(service: ServiceRig) -> None:
    service.sweep(metric=None, metrics=METRICS)
    assert service.client().get(f"{URL}/best").json() == []
    assert service.client().get(URL).json()["best"] is None


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("number", [0, 1, 2, 3, 4, 5, 6]),
        ("-number", [6, 5, 4, 3, 2, 1, 0]),
        ("value", [0, 3, 4, 1, 2, 5, 6]),
        ("-value", [5, 2, 1, 3, 4, 0, 6]),
        ("-values.val_accuracy", [5, 2, 1, 3, 4, 0, 6]),
        ("values.val_loss", [5, 0, 1, 3, 4, 2, 6]),
        ("-values.val_loss", [2, 4, 3, 1, 0, 5, 6]),
        ("params.lr", [5, 4, 3, 2, 1, 6, 0]),
        ("params.no", [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_trials_are_sorted_by_any_objective_across_pages(several: ServiceRig, sort: str, expected: list[int]) -> None:
    client = several.client()
    for limit in (1, 2, 3, 100):
        found, after = [], ""
        for _ in range(10):
            page = client.get(f"{URL}/trials?sort={sort}&limit={limit}{after}").json()
            found += [trial["number"] for trial in page["items"]]
            if page["next"] is None:
                break
            after = f"&after={page['next']}"
        assert found == expected, limit


@pytest.mark.parametrize("sort", ["values.loss", "values.", "params.", "lr", "", "-", "--value"])
def test_invalid_sort_key_is_explained(several: ServiceRig, sort: str) -> None:
    answer = several.client().get(f"{URL}/trials", params={"sort": sort})
    assert_problem(answer, 400, "values.val_accuracy, values.val_loss")


def test_infeasible_trial_is_marked_and_is_not_a_candidate(several: ServiceRig) -> None:
    trial = several.client().get("/api/v1/trials/6").json()
    assert trial["constraints"] == {"megabytes": 3.5, "age": -1.0}
    with several.database.read() as connection:
        assert [row.number for row in member_candidates.of_sweep(connection, 1)] == [0, 1, 2, 3, 4]
        (named,) = member_candidates.named(connection, [6])
    assert (named.number, named.state) == (5, TrialState.FINISHED)


def test_best_trial_of_one_objective_is_feasible(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    service.trial(sweep_id, 0, 0.5)
    service.trial(sweep_id, 1, 0.9, constraints={"megabytes": 1e-9})
    service.trial(sweep_id, 2, 0.7, constraints={"megabytes": 0.0})
    assert [t["number"] for t in service.client().get(f"{URL}/best?k=9").json()] == [2, 0]
    assert service.client().get(URL).json()["best"]["number"] == 2


def test_user_attributes_are_returned(service: ServiceRig, podium: Podium, monkeypatch: pytest.MonkeyPatch) -> None:
    attributes: dict[str, Any] = {"confusion": [[3, 1], [0, 4]], "note": "ünï", "nothing": None}
    service.trial(service.sweep(), 0, 0.5, user_attrs=attributes, constraints={"size": -2.0})
    client = service.client()
    assert client.get("/api/v1/trials/1").json()["user_attrs"] == attributes
    assert client.get(f"{URL}/trials").json()["items"][0]["user_attrs"] == attributes
    monkeypatch.setattr(Client, "of", lambda _: FollowedClient(service))
    code, out, _ = podium("trial", "show", 1)
    assert code == 0
    for line in ("constraint size: -2, holds", "confusion: [[3, 1], [0, 4]]", "note: ünï", "nothing: null"):
        assert line in out


def test_command_line_shows_a_column_per_objective(served: ServiceRig, podium: Podium) -> None:
    code, out, _ = podium("sweep", "show", 1)
    assert code == 0
    assert "best val_accuracy 0.9, val_loss 0.5 (trial 2)" in out
    table = out[out.index("Pareto front") :].splitlines()
    assert table[1].split() == ["trial", "val_accuracy", "val_loss", "parameters"]
    assert [line.split()[:3] for line in table[2:5]] == [["2", "0.9", "0.5"], ["1", "0.8", "0.2"], ["0", "0.7", "0.1"]]
    _, out, _ = podium("trial", "list", 1, "--sort=-values.val_loss")
    assert out.split()[:5] == ["trial", "id", "state", "val_accuracy", "val_loss"]
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["2", "4", "3", "1", "0", "5", "6"]
    assert [line.split()[0] for line in out.splitlines() if "violates megabytes" in line] == ["5"]
    _, out, _ = podium("trial", "show", 6)
    assert "val_accuracy=0.99, val_loss=0.01" in out
    assert "constraint megabytes: 3.5, violated" in out
    _, out, _ = podium("sweep", "show", 1, "--json")
    assert [trial["number"] for trial in json.loads(out)["top"]] == [2, 1, 0]


def test_long_front_is_truncated_in_the_table(several: ServiceRig) -> None:
    sweep = several.client().get(URL).json()
    front: Any = [{"number": n, "values": {"val_accuracy": n, "val_loss": n}, "params": {}} for n in range(50)]
    table = sweep_output.top_table(sweep, front)
    assert table.title == "Pareto front (the first 20 of 50 trials)"
    assert table.row_count == 20


@pytest.mark.parametrize(
    ("metrics", "where"),
    [
        ([METRICS[0], METRICS[0]], "metrics.1.name"),
        ([METRICS[0], {"name": "loss", "goal": "minimize"}], "metrics.1.name"),
        ([METRICS[0], {"name": "val_loss", "goal": "maximize"}], "metrics.1.goal"),
        ([METRICS[0], {**METRICS[1], "target": 0.1}], "metrics.1.target"),
        ([METRICS[0]], "metrics"),
    ],
)
def test_invalid_objectives_are_refused(client: TestClient, metrics: list[Any], where: str) -> None:
    document = builtin_document(metric=None, metrics=metrics)
    answer = client.post("/api/v1/sweeps", json=document)
    problem = assert_problem(answer, 422)
    assert where in [".".join(error["location"]) for error in problem["errors"]]
