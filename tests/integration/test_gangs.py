"""Trials with several devices on a real service: torchrun's scripts, functions, failures of ranks, limits."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from podium.sweep.values.errors import NotFoundError
from tests.running_service import AuditedService, podium, wait_for

PROGRAMS = Path(__file__).parent / "gang_programs"
WAIT_S = 240.0


def _sweep(service: AuditedService, program: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Run a sweep of one trial on both devices; returns the trial."""
    document = {
        "name": "gang",
        "method": "random",
        "metric": {"name": "score", "goal": "maximize"},
        "parameters": {"x": {"min": 0.0, "max": 1.0}},
        "run_cap": 1,
        "program": {"code": str(PROGRAMS), **program},
        "resources": {"devices": 2},
        "retries": {"max_consecutive_failures": 1},
        **changes,
    }
    sweep_id = service.client.submit(document)["id"]
    service.client.wait(sweep_id, WAIT_S)
    return dict(service.client.trial(next(iter(service.client.trials(sweep_id)))["id"]))


def _function(service: AuditedService, name: str, **changes: Any) -> dict[str, Any]:
    return _sweep(service, {"function": f"train:{name}"}, **changes)


def _logs(service: AuditedService, trial: dict[str, Any]) -> list[str]:
    return [service.client.log(trial["id"], rank=rank) for rank in range(2)]


@pytest.mark.parametrize("script", ["train_ddp.py", pytest.param("train_fsdp.py", marks=pytest.mark.slow)])
def test_unmodified_script_for_torchrun_runs_on_all_devices(service: AuditedService, script: str) -> None:
    program = {"command": ["python", script], "metrics": {"score": "auto"}}
    trial = _sweep(service, program)
    assert trial["state"] == "finished", _logs(service, trial)
    assert [rank["device"] for rank in trial["attempts"][0]["ranks"]] == ["cpu-0", "cpu-1"]
    assert {rank["state"] for rank in trial["attempts"][0]["ranks"]} == {"finished"}
    assert "score" in _logs(service, trial)[0] and "score" not in _logs(service, trial)[1]


def test_rank_0_reports_and_each_rank_has_its_log(service: AuditedService) -> None:
    trial = _function(service, "together")
    assert (trial["state"], trial["value"]) == ("finished", 0.5), _logs(service, trial)
    assert "rank 0 of 2" in _logs(service, trial)[0] and "rank 1 of 2" in _logs(service, trial)[1]
    shown = podium("trial", "show", str(trial["id"]), "--data-dir", str(service.data.root)).stdout
    assert "cpu-0, cpu-1" in shown and "ranks of attempt 1" in shown
    log = podium("trial", "logs", str(trial["id"]), "--rank", "1", "--data-dir", str(service.data.root)).stdout
    assert "rank 1 of 2" in log
    curve = service.client.metrics(trial["id"])["score"]
    assert [step for step, _ in curve] == [0, 1, 2, 3] and all(value < 100 for _, value in curve)


@pytest.mark.slow
def test_builtin_model_trains_on_all_devices_as_on_one(service: AuditedService) -> None:
    """The gradient is that of the whole batch, so both have the same metrics up to rounding."""
    changes = {
        "metric": {"name": "val_loss", "goal": "minimize"},
        "parameters": {"lr": {"values": [0.01]}},
        "retries": {"user": 0},
    }
    program = {"model": "mlp", "data": {"name": "digits"}}
    trials = []
    for devices in (1, 2):
        document = {**changes, "name": "builtin", "method": "random", "run_cap": 1, "program": program}
        sweep_id = service.client.submit({**document, "resources": {"devices": devices}})["id"]
        service.client.wait(sweep_id, WAIT_S)
        trials.append(service.client.trial(next(iter(service.client.trials(sweep_id)))["id"]))
    assert [trial["state"] for trial in trials] == ["finished", "finished"], _logs(service, dict(trials[1]))
    alone, together = (trial["value"] for trial in trials)
    assert alone is not None and together == pytest.approx(alone, rel=0.05)
    assert {file["name"] for file in trials[1]["artifacts"]} == {"model.safetensors", "predictions.safetensors"}


def test_rank_0_may_save_after_the_others_have_ended(service: AuditedService) -> None:
    trial = _function(service, "saves_after_the_others")
    assert (trial["state"], trial["value"]) == ("finished", 1.0), _logs(service, trial)


def test_one_process_gets_all_devices(service: AuditedService) -> None:
    trial = _function(service, "one_process", resources={"devices": 2, "processes": "one"})
    assert (trial["state"], trial["value"]) == ("finished", 0.5), trial["attempts"]
    assert [rank["device"] for rank in trial["attempts"][0]["ranks"]] == ["cpu-0", "cpu-1"]


@pytest.mark.parametrize(
    ("function", "cause", "words"),
    [
        ("killed", "signal", "rank 1: the process was terminated by SIGKILL"),
        ("fails", "user_error", "rank 1: ZeroDivisionError: as planned"),
        ("saves_in_rank_1", "user_error", "rank 1: UserCodeError: rank 1 called trial.save_checkpoint; only rank 0"),
    ],
)
def test_failure_of_a_rank_ends_the_attempt_with_its_cause(
    service: AuditedService, function: str, cause: str, words: str
) -> None:
    trial = _function(service, function)
    attempt = trial["attempts"][0]
    assert (trial["state"], attempt["cause"]) == ("failed", cause), attempt
    assert words in attempt["message"]
    ends = [rank["ended_at"] for rank in attempt["ranks"]]
    assert all(ends) and len(ends) == 2


@pytest.mark.parametrize(
    ("function", "limits", "cause", "words"),
    [
        pytest.param(
            "never_joins",
            {"join_s": 10.0},
            "join_timeout",
            "rank 1: did not connect to the other ranks at 127.0.0.1:",
            marks=pytest.mark.slow,
        ),
        ("hangs", {"stall_s": 3.0}, "stalled", "no rank has reported, printed or computed for limits.stall_s (3 s)"),
    ],
)
def test_limits_on_joining_and_stalling(
    service: AuditedService, function: str, limits: dict[str, float], cause: str, words: str
) -> None:
    trial = _function(service, function, limits=limits)
    attempt = trial["attempts"][0]
    assert (trial["state"], attempt["cause"]) == ("failed", cause), attempt
    assert words in attempt["message"]


def test_checkpoint_of_all_ranks_is_resumed(service: AuditedService) -> None:
    trial = _function(service, "checkpoint", retries={"user": 1})
    assert (trial["state"], trial["value"], len(trial["attempts"])) == ("finished", 7.0, 2), trial["attempts"]


def test_more_devices_than_exist_wait_with_a_reason(service: AuditedService) -> None:
    document = {
        "name": "too wide",
        "method": "random",
        "metric": {"name": "score", "goal": "maximize"},
        "parameters": {"x": {"min": 0.0, "max": 1.0}},
        "run_cap": 1,
        "program": {"code": str(PROGRAMS), "function": "train:one_process"},
        "resources": {"devices": 3},
    }
    sweep_id = service.client.submit(document)["id"]
    end_s = time.monotonic() + 20
    while (sweep := service.client.sweep(sweep_id))["wait_reason"] != "no_matching_device" and time.monotonic() < end_s:
        time.sleep(0.2)
    assert "it needs 3 devices of one node together, and there are at most 2" in sweep["wait_message"], sweep
    service.client.cancel_sweep(sweep_id)


def test_gang_survives_the_scheduler_and_a_killed_rank_frees_all_devices(service: AuditedService) -> None:
    document = {
        "name": "long",
        "method": "random",
        "metric": {"name": "score", "goal": "maximize"},
        "parameters": {"x": {"min": 0.0, "max": 1.0}},
        "run_cap": 1,
        "program": {"code": str(PROGRAMS), "function": "train:waits"},
        "resources": {"devices": 2},
        "retries": {"max_consecutive_failures": 1},
    }
    sweep_id = service.client.submit(document)["id"]
    trial_id = wait_for("the trial", lambda: [trial["id"] for trial in service.client.trials(sweep_id)])[0]
    pids = wait_for("both ranks joined", lambda: _pids_of_ranks(service, trial_id))
    assert [device["trial_id"] for device in service.client.devices()] == [trial_id, trial_id]
    service.kill("scheduler")
    wait_for("the gang is adopted", lambda: service.client.trial(trial_id)["state"] == "running")
    assert [device["trial_id"] for device in service.client.devices()] == [trial_id, trial_id]
    os.kill(pids[1], signal.SIGKILL)
    trial = wait_for("the trial ended", lambda: _ended(service, trial_id))
    attempt = trial["attempts"][0]
    assert (len(trial["attempts"]), attempt["cause"]) == (1, "signal"), attempt
    assert attempt["message"] == "rank 1: the process was terminated by SIGKILL"
    assert all(rank["ended_at"] for rank in attempt["ranks"])


def _pids_of_ranks(service: AuditedService, trial_id: int) -> list[int]:
    """The processes of both ranks, once they train together."""
    logs = []
    for rank in range(2):
        with contextlib.suppress(NotFoundError):
            logs.append(service.client.log(trial_id, rank=rank))
    found = [re.search(r"joined as (\d+)", text) for text in logs]
    return [int(each[1]) for each in found if each] if len(found) == 2 and all(found) else []


def _ended(service: AuditedService, trial_id: int) -> dict[str, Any] | None:
    trial = service.client.trial(trial_id)
    return dict(trial) if trial["state"] == "failed" else None
