"""Sweeps of third-party programs, run to their end on a real service, and the results of their trials."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from podium.api.client.trial_responses import TrialInfo
from podium.sweep.values.errors import NotFoundError
from tests.running_service import RunningService

PROGRAMS = Path(__file__).parent / "integration" / "third_party" / "programs"
WAIT_S = 120.0


def run_program(service: RunningService, document: dict[str, Any], *, ended: str = "finished") -> list[dict[str, Any]]:
    """The trials of a sweep by number, each with its `metrics`; asserts its final state and that no trial failed."""
    return _trials(service, service.client.submit(document)["id"], ended)


def run_program_file(service: RunningService, path: Path) -> list[dict[str, Any]]:
    """The same for a sweep file; asserts that the sweep finishes."""
    return _trials(service, service.client.submit_file(path)["id"], "finished")


def _trials(service: RunningService, sweep_id: int, ended: str) -> list[dict[str, Any]]:
    sweep = service.client.wait(sweep_id, WAIT_S)
    found = sorted((service.client.trial(row["id"]) for row in service.client.trials(sweep_id)), key=_number)
    why = [(trial["number"], trial["state"], _end_of_log(service, trial["id"])) for trial in found]
    assert sweep["state"] == ended, (sweep["reason"], why)
    assert {trial["state"] for trial in found} <= {"finished", "pruned"}, why
    return [{**trial, "metrics": service.client.metrics(trial["id"])} for trial in found]


def _end_of_log(service: RunningService, trial_id: int) -> str:
    with suppress(NotFoundError):  # it printed nothing
        return service.client.log(trial_id)[-2_000:]
    return ""


def _number(trial: TrialInfo) -> int:
    return int(trial["number"])


def values(trial: dict[str, Any], metric: str) -> list[float]:
    """The values of one curve, without steps."""
    return [point[1] for point in trial["metrics"][metric]]
