"""`podium doctor`: output and exit code for a consistent database, an inconsistent one, and a missing one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.commands import Podium
from tests.service_rig import ServiceRig


@pytest.mark.sqlite
def test_consistent_directory_exits_0_and_lists_what_was_checked(service: ServiceRig, podium: Podium) -> None:
    service.trial(service.sweep(run_cap=4), 0, 0.5, model=False)
    code, out, _ = podium("doctor", "--data-dir", service.data.root)
    assert (code, "invariants hold for 1 sweep, 1 trial, 1 attempt" in out) == (0, True), out


@pytest.mark.sqlite
def test_breach_exits_1_and_names_the_rows(service: ServiceRig, podium: Podium) -> None:
    trial_id = service.trial(service.sweep(run_cap=4), 0, 0.5, model=False)
    with service.database.write() as connection:
        connection.execute(text("UPDATE trials SET value = NULL"))
    code, out, _ = podium("doctor", "--data-dir", service.data.root)
    assert code == 1
    assert "results" in out
    assert f"trial_id {trial_id}" in out


@pytest.mark.slow
@pytest.mark.sqlite
def test_json_report_is_valid(service: ServiceRig, podium: Podium) -> None:
    service.trial(service.sweep(run_cap=1), 0, 0.5, model=False)
    code, out, _ = podium("doctor", "--data-dir", service.data.root, "--json", "--no-artifacts")
    report = json.loads(out)
    assert (code, report["breaches"], report["trials"]) == (0, [], 1)
    assert "artifacts" not in report["invariants"]


@pytest.mark.slow
def test_missing_database_exits_2_and_names_the_path(tmp_path: Path, podium: Podium) -> None:
    code, _, _ = podium("doctor", "--data-dir", tmp_path / "nowhere")
    assert code == 2
