"""Several objectives with pruning, constraints, attributes and a warm start, on a real service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.running_service import AuditedService, function_sweep, podium, wait_for

CODE = """
import time

def curve(trial):
    x = trial.params["x"]
    trial.set_user_attr("twice", {"x": 2 * x})
    trial.set_constraint("room", x - 0.9)
    for step in range(4):
        trial.report(1 - x, step)
        if trial.should_prune():
            raise trial.Pruned
    return {"far": x * x, "near": 1 - x, "seconds": 0.1}

def slow(trial):
    time.sleep(0.2)
    return 1 - trial.params["x"]

def sleeps(trial):
    trial.set_user_attr("got", "here")
    trial.set_constraint("room", -1)
    time.sleep(60)

def one_of_two(trial):
    return 0.5

def too_large(trial):
    trial.set_user_attr("weights", list(range(100_000)))
"""
METRICS = [{"name": "near", "goal": "maximize"}, {"name": "far", "goal": "maximize"}]


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("code")
    (folder / "several.py").write_text(CODE)
    return folder


def several(code: Path, **changes: Any) -> dict[str, Any]:
    document = function_sweep(code, "several:curve", metrics=METRICS, seed=4, **changes)
    del document["metric"]
    return document


def test_two_objectives_are_pruned_by_one_and_form_pareto_front(service: AuditedService, code: Path) -> None:
    early = {"type": "median", "metric": "near", "min_iter": 2, "min_trials": 2}
    client = service.client
    sweep = client.wait(client.submit(several(code, run_cap=16, early_terminate=early))["id"], 120)
    trials = list(client.trials(sweep["id"]))
    finished = [trial for trial in trials if trial["state"] == "finished"]
    assert sweep["state"] == "finished"
    assert sweep["counts"]["pruned"] >= 1
    for trial in finished:
        x = trial["params"]["x"]
        assert trial["values"] == {"near": 1 - x, "far": x * x}
        assert trial["constraints"] == {"room": x - 0.9}
    assert all(trial["user_attrs"] == {"twice": {"x": 2 * trial["params"]["x"]}} for trial in trials)
    # The two objectives pull in opposite directions: every feasible trial is on the front.
    front = client.best(sweep["id"])
    feasible = {trial["number"] for trial in finished if trial["params"]["x"] <= 0.9}
    assert {trial["number"] for trial in front} == feasible
    assert sweep["best"] is not None and sweep["best"]["number"] == front[0]["number"]
    listed = [trial["number"] for trial in client.trials(sweep["id"], "-values.far") if trial["values"]]
    assert listed == [t["number"] for t in sorted(finished, key=lambda t: -(t["values"] or {})["far"])]
    shown = podium("sweep", "show", str(sweep["id"]), "--data-dir", str(service.data.root))
    assert "Pareto front" in shown.stdout


@pytest.mark.slow
def test_warm_start_works_when_scheduler_is_killed(service: AuditedService, code: Path) -> None:
    client = service.client
    earlier = client.wait(client.submit(function_sweep(code, "several:slow", run_cap=12))["id"], 120)
    document = function_sweep(code, "several:slow", method="tpe", run_cap=12, warm_start=[earlier["id"]])
    sweep = client.submit(document)
    assert sweep["warm_start"] == {"trials": 12, "dropped": 0, "why": [], "left_out": 0}
    wait_for("some trials are over", lambda: client.sweep(sweep["id"])["counts"].get("finished", 0) >= 4)
    service.kill("scheduler")
    sweep = client.wait(sweep["id"], 120)
    assert (sweep["state"], sweep["counts"]) == ("finished", {"finished": 12})
    assert [trial["number"] for trial in client.trials(sweep["id"])] == list(range(12))
    assert sweep["best"] is not None and sweep["best"]["value"] > 0.8


@pytest.mark.parametrize(
    ("function", "cause", "said"),
    [
        ("one_of_two", "bad_report", "the sweep has 2 objectives: return a tuple (near, far), or a dict"),
        ("too_large", "bad_report", "at most 16,384 bytes"),
        ("sleeps", "timeout", "limits.trial_s"),
    ],
)
def test_invalid_reports_are_explained_and_attributes_are_kept(
    service: AuditedService, code: Path, function: str, cause: str, said: str
) -> None:
    limits = {"trial_s": 2 if cause == "timeout" else 120}
    document = several(code, run_cap=1, limits=limits, retries={"max_consecutive_failures": 1})
    document["program"]["function"] = f"several:{function}"
    sweep = service.client.wait(service.client.submit(document)["id"], 60)
    assert sweep["state"] == "failed"
    trial = service.client.trial(next(iter(service.client.trials(sweep["id"])))["id"])
    (attempt,) = trial["attempts"]
    assert attempt["cause"] == cause
    assert said in str(attempt["message"])
    noted = function == "sleeps"
    assert trial["user_attrs"] == ({"got": "here"} if noted else {})
    assert trial["constraints"] == ({"room": -1.0} if noted else {})
