"""Trials that share a CPU slot: they run at the same time, each in its own process with its part of the cores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.sweep.runtime.service_settings import available_cores
from tests.running_service import AuditedService, function_sweep

CODE = """
import os
import time
from pathlib import Path

MEETING = Path(__file__).with_name("meeting")

def meets(trial):
    (MEETING / str(trial.number)).touch()
    end = time.monotonic() + 30.0
    while len(list(MEETING.iterdir())) < 2:
        assert time.monotonic() < end, "the other trial has not started"
        time.sleep(0.01)
    return float(os.environ["OMP_NUM_THREADS"])

def threads(trial):
    return float(os.environ["OMP_NUM_THREADS"])
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AuditedService]:
    folder = tmp_path_factory.mktemp("shares")
    with AuditedService(folder / "data", "cpu:1", options=["--trials-per-device", "2"]) as running:
        yield running


def _attempts(service: AuditedService, sweep_id: int) -> list[tuple[str, float]]:
    trials = service.client.trials(sweep_id)
    found = [service.client.trial(trial["id"])["attempts"][0] for trial in trials]
    return sorted((attempt["device"], attempt["devices"]) for attempt in found)


def test_two_trials_share_a_device(service: AuditedService, tmp_path: Path) -> None:
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text(
        CODE.replace('Path(__file__).with_name("meeting")', f"Path({str(meeting)!r})")
    )
    sweep = service.client.submit(function_sweep(tmp_path / "code", "train:meets", run_cap=2))
    assert service.client.wait(sweep["id"], 60)["state"] == "finished"
    assert _attempts(service, sweep["id"]) == [("cpu-0", 0.5), ("cpu-0.1", 0.5)]
    assert {trial["value"] for trial in service.client.trials(sweep["id"])} == {max(1.0, available_cores() // 2)}


def test_trial_with_the_whole_device_has_all_its_cores(service: AuditedService, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CODE)
    document = function_sweep(tmp_path, "train:threads", run_cap=2, resources={"share": 1})
    sweep = service.client.submit(document)
    assert service.client.wait(sweep["id"], 60)["state"] == "finished"
    found = _attempts(service, sweep["id"])  # on either slot: the other one has no trial meanwhile
    assert [(slot.removesuffix(".1"), share) for slot, share in found] == [("cpu-0", 1.0)] * 2
    assert {trial["value"] for trial in service.client.trials(sweep["id"])} == {float(available_cores() // 2 * 2 or 2)}
