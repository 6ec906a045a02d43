"""Population-based training on a real service: built-in models, functions, replays, kills."""

from __future__ import annotations

import contextlib
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from podium.api.client.client import Client
from podium.api.client.sweep_responses import SweepInfo
from podium.api.client.trial_responses import IntervalInfo
from podium.sweep.values.errors import NotFoundError
from tests.running_service import AuditedService, function_sweep, podium, wait_for
from tests.specs import builtin_document

METHOD: dict[str, Any] = {"type": "pbt", "population": 4, "interval": {"step": 2}}
EPOCHS = 6
BUILTIN: dict[str, Any] = {
    "method": METHOD,
    "run_cap": None,
    "parameters": {
        "lr": {"min": 1e-4, "max": 0.1, "log": True},
        "dropout": {"min": 0.0, "max": 0.5},
        "hidden": {"values": [8, 16]},
        "epochs": {"value": EPOCHS},
    },
}
CODE = """
import json
import os
import time

import torch


def build(params):
    return torch.nn.Linear(2, 1)


def train(trial):
    model = build(trial.params)
    optimizer = torch.optim.SGD(model.parameters(), lr=trial.params["lr"], momentum=0.9)
    first, total = 1, 0.0
    if (checkpoint := trial.resume()) is not None:
        checkpoint.load_into(model, optimizer)
        first, total = checkpoint.epoch + 1, checkpoint.extra
    assert optimizer.param_groups[0]["lr"] == trial.params["lr"]
    for step in range(first, 9):
        time.sleep(0.02)
        total += trial.params["lr"]
        trial.report(total, step)
        trial.save_checkpoint(model, optimizer, step, extra=total)
    return total


def never_saves(trial):
    for step in range(1, 9):
        trial.report(1.0, step)


def starts_again(trial):
    model = build(trial.params)
    for step in range(1, 9):
        trial.save_checkpoint(model, None, step)
        trial.report(1.0, step)
"""

SCRIPT = """
import argparse
import json
import os
import sys
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--fault", default="")
args = parser.parse_args()
total, first, before = 0.0, 1, []
if (resume := os.environ.get("PODIUM_RESUME")) is not None and args.fault != "starts_again":
    before = json.loads((Path(resume) / "state.json").read_text())
    first = int(os.environ["PODIUM_RESUME_STEP"]) + 1
    assert len(before) == first - 1
until = int(os.environ.get("PODIUM_UNTIL_STEP", 8)) + (args.fault == "continues")
for step in range(first, min(until, 8) + 1):
    before.append(args.lr)
    if args.fault == "starts_again":
        print(f"step={step}")
    print("score", sum(before))
if args.fault != "never_saves":
    (Path(os.environ["PODIUM_CHECKPOINT"]) / "state.json").write_text(json.dumps(before))
"""


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("code")
    (folder / "train.py").write_text(CODE)
    (folder / "script.py").write_text(SCRIPT)
    return folder


def by_function(code: Path, function: str, **changes: Any) -> dict[str, Any]:
    parameters = {"lr": {"min": 0.001, "max": 1.0, "log": True}}
    document = function_sweep(code, f"train:{function}", method=METHOD, parameters=parameters, **changes)
    del document["run_cap"]
    return document


def assert_lineage(client: Client, sweep: SweepInfo, last_step: int | None = None) -> list[IntervalInfo]:
    """Assert that intervals follow each other, each by one attempt, and start from what existed."""
    found = list(client.intervals(sweep["id"]))
    rows = {(each["trial"], each["interval"]): each for each in found}
    for (of, number), row in rows.items():
        if row["donor"] is not None:
            assert row["donor_interval"] is not None
            source = rows[row["donor"], row["donor_interval"]]
            assert number == source["interval"] + 1 and source["ended_at"] is not None
            assert source["ended_at"] <= (row["ended_at"] or source["ended_at"])
        elif number > 1:
            assert rows[of, number - 1]["params"] == row["params"]
    for trial in client.trials(sweep["id"]):
        own = [row for (number, _), row in sorted(rows.items()) if number == trial["number"]]
        attempts = [row["attempt"] for row in own if row["attempt"] is not None]
        assert attempts == sorted(set(attempts)), "no attempt counts for two intervals"
        assert own[-1]["params"] == trial["params"] and own[-1]["value"] == trial["value"]
        if last_step is not None:
            assert max(step for step, _ in client.metrics(trial["id"])[sweep["spec"]["metric"]["name"]]) == last_step
    return found


def replayed(client: Client, trial_id: int) -> SweepInfo:
    return client.wait(client.submit(client.schedule(trial_id)["replay"])["id"], 300)


@pytest.mark.slow
def test_builtin_population_finishes_and_each_schedule_can_be_repeated(service: AuditedService) -> None:
    client = service.client
    sweep = client.wait(client.submit(builtin_document(**BUILTIN))["id"], 400)
    assert (sweep["state"], sweep["counts"]) == ("finished", {"finished": 4}), sweep["reason"]
    found = assert_lineage(client, sweep, EPOCHS - 1)
    exploits = [row for row in found if row["donor"] is not None]
    assert exploits and sweep["population"] is not None and sweep["population"]["exploits"] == len(exploits)
    for row in exploits:
        donor = next(
            each for each in found if (each["trial"], each["interval"]) == (row["donor"], row["donor_interval"])
        )
        assert row["params"]["hidden"] == donor["params"]["hidden"], "the architecture is copied"
    continued = exploits[-1]["trial_id"]
    again = replayed(client, continued)
    assert again["state"] == "finished", again["reason"]
    assert again["best"] is not None
    assert again["best"]["value"] == client.trial(continued)["value"], "bit for bit"
    left = list(service.data.trials.glob(f"{sweep['id']}/*/*/checkpoint.safetensors"))
    wait_for("all checkpoints are removed", lambda: not any(path.exists() for path in left))
    line = podium("sweep", "show", str(sweep["id"]), "--data-dir", str(service.data.root)).stdout
    assert "population: 4 trials" in line
    table = podium("trial", "schedule", str(continued), "--data-dir", str(service.data.root)).stdout
    assert "until step" in table
    (exported, *_) = client.exported_trials(sweep["id"])
    assert exported["intervals"] == [row for row in found if row["trial"] == 0]


def test_function_continues_checkpoints_with_changed_parameters(service: AuditedService, code: Path) -> None:
    client = service.client
    sweep = client.wait(client.submit(by_function(code, "train", seed=3))["id"], 300)
    assert (sweep["state"], sweep["counts"]) == ("finished", {"finished": 4}), sweep["reason"]
    found = assert_lineage(client, sweep, 8)
    assert any(row["donor"] is not None for row in found)
    for trial in client.trials(sweep["id"]):  # the sum of the learning rates of the path that led to it
        path = client.schedule(trial["id"])["intervals"]
        before = 0
        total = 0.0
        for row in path:
            until = row["step"] or 8
            for _ in range(before, until):
                total += float(str(row["params"]["lr"]))
            before = until
        assert trial["value"] == pytest.approx(total)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("never_saves", "interval 1 ended at step 2, and no checkpoint of it was saved"),
        ("starts_again", "must call trial.resume()"),
    ],
)
def test_program_without_support_fails_with_what_to_do(
    service: AuditedService, code: Path, function: str, message: str
) -> None:
    client = service.client
    sweep = client.wait(client.submit(by_function(code, function, retries={"user": 0}))["id"], 200)
    assert sweep["state"] == "failed"
    assert message in sweep["reason"]


def kill_a_trial(client: Client, sweep_id: int) -> None:
    """Kill the process of a running trial, if there is one."""
    for trial in client.trials(sweep_id, state="running"):
        pid = client.trial(trial["id"])["attempts"][-1]["pid"]
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            return


def test_population_survives_kills_of_scheduler_and_trials(service: AuditedService, code: Path) -> None:
    client = service.client
    sweep_id = client.submit(by_function(code, "train", seed=5, retries={"user": 20, "infrastructure": 20}))["id"]

    def has_ended(count: int) -> bool:
        ended = sum(row["attempt"] is not None for row in client.intervals(sweep_id))
        return ended >= count or client.sweep(sweep_id)["state"] in ("finished", "failed")

    for count in (2, 5, 8):
        wait_for(f"{count} intervals have ended", partial(has_ended, count))
        kill_a_trial(client, sweep_id)
        service.kill("scheduler")
    sweep = client.wait(sweep_id, 300)
    assert (sweep["state"], sweep["counts"]) == ("finished", {"finished": 4}), sweep["reason"]
    assert_lineage(client, sweep, 8)


def test_stopped_population_ends_with_an_interval(service: AuditedService, code: Path) -> None:
    client = service.client
    sweep_id = client.submit(by_function(code, "train", seed=5))["id"]
    wait_for("an interval has ended", lambda: any(row["attempt"] for row in client.intervals(sweep_id)))
    client.stop_sweep(sweep_id)
    sweep = client.wait(sweep_id, 200)
    assert sweep["state"] == "finished", sweep["reason"]
    for trial in client.trials(sweep_id, state="finished"):
        assert trial["value"] is not None
    assert any(max(step for step, _ in client.metrics(trial["id"])["score"]) < 8 for trial in client.trials(sweep_id))


def test_trial_of_another_sweep_has_no_schedule(service: AuditedService, code: Path) -> None:
    client = service.client
    document = function_sweep(code, "train:train", parameters={"lr": {"value": 0.1}}, run_cap=1, method="random")
    sweep = client.wait(client.submit(document)["id"], 200)
    (trial,) = client.trials(sweep["id"])
    assert sweep["population"] is None and list(client.intervals(sweep["id"])) == []
    with pytest.raises(NotFoundError, match="was not trained in intervals"):
        client.schedule(trial["id"])


def by_script(code: Path, fault: str = "", **changes: Any) -> dict[str, Any]:
    document = by_function(code, "", **changes)
    command = ["python", "script.py", "--lr", "${lr}", "--fault", fault or "none"]
    return {**document, "program": {"command": command, "code": str(code), "metrics": {"score": "auto"}}}


def test_script_trains_in_intervals_and_copies_checkpoints(service: AuditedService, code: Path) -> None:
    client = service.client
    sweep = client.wait(client.submit(by_script(code))["id"], 200)
    assert (sweep["state"], sweep["counts"]) == ("finished", {"finished": 4}), sweep["reason"]
    found = assert_lineage(client, sweep, 8)
    steps = [row["step"] for row in found if row["trial"] == 0]
    assert steps == [2, 4, 6, 8, None]  # the last attempt has nothing to train: the value of its checkpoint counts
    assert any(row["donor"] is not None for row in found)
    for trial in client.trials(sweep["id"]):
        path = client.schedule(trial["id"])["intervals"]
        assert trial["value"] == pytest.approx(sum(2 * float(each["params"]["lr"]) for each in path[:4]))
    first = next(iter(client.trials(sweep["id"])))
    repeated = replayed(client, first["id"])
    assert repeated["state"] == "finished", repeated["reason"]
    (trial,) = client.trials(repeated["id"])
    assert trial["value"] == pytest.approx(first["value"])


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("never_saves", "wrote nothing into the folder that $PODIUM_CHECKPOINT names"),
        ("continues", "which ends at step 2: after the step $PODIUM_UNTIL_STEP it must write its checkpoint"),
        ("starts_again", "which starts after step 2: it must continue from the checkpoint in $PODIUM_RESUME"),
    ],
)
def test_script_that_does_not_train_in_intervals_fails_with_the_reason(
    service: AuditedService, code: Path, fault: str, words: str
) -> None:
    client = service.client
    # A script that starts again is seen by its first step only if it prints steps.
    metrics = {"score": "auto", **({"step": r"step=(\d+)"} if fault == "starts_again" else {})}
    document = by_script(code, fault)
    sweep = client.wait(client.submit({**document, "program": {**document["program"], "metrics": metrics}})["id"], 200)
    assert sweep["state"] == "failed" and words in sweep["reason"], sweep["reason"]
