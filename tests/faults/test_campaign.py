"""A short campaign: one kill of each kind, and of trials; `make faults` runs the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.campaign import Plan, run, table
from tests.faults.victims import KINDS


@pytest.mark.timeout(600)
def test_trials_are_counted_once_when_each_component_is_killed(tmp_path: Path) -> None:
    said: list[str] = []
    outcome = run(Plan(server_kills=len(KINDS), trial_kills=20, each_kind_once=True), tmp_path, said.append)
    assert outcome.passed, table(outcome)
    assert {kill.kind for kill in outcome.kills} == {*KINDS, "trial"}
    assert outcome.verdict.trials > 0 and outcome.verdict.repeated > 0
    assert len(said) == len(KINDS)
