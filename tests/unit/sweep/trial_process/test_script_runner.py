"""The environment variables of a script."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.spec.command_macros import TRIAL_VARIABLES
from podium.sweep.trial_process.script_runner import script_variables


def test_variables_of_a_script_can_be_named_in_its_command(tmp_path: Path) -> None:
    directory = AttemptDirectory(tmp_path / "attempt")
    directory.prepare()
    trial: Any = SimpleNamespace(objectives=("loss",), params={"lr": 0.1}, seed=7, number=3, directory=directory)
    given = script_variables(trial, tmp_path / "metrics.jsonl")
    assert set(given) <= set(TRIAL_VARIABLES)
    assert given["PODIUM_TRIAL"] == "3" and given["PODIUM_PARAMS"] == '{"lr": 0.1}'
