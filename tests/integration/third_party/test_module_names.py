"""User code with modules named sweep, db, api, ensemble and podium_helpers: as a function and as a script."""

from __future__ import annotations

import pytest

from tests.program_sweeps import PROGRAMS, run_program
from tests.running_service import RunningService

PARAMETERS = {"lr": {"values": [0.25, 0.5]}}
OWN = {
    "function": {"function": "train:objective"},
    "script": {"command": ["python", "train.py", "${args}"], "metrics": {"value": "value=${number}"}},
}


@pytest.mark.parametrize("program", OWN.values(), ids=OWN)
def test_user_modules_are_not_shadowed(service: RunningService, program: dict[str, object]) -> None:
    trials = run_program(
        service,
        {
            "name": "own-names",
            "method": "grid",
            "metric": {"name": "value", "goal": "maximize"},
            "parameters": PARAMETERS,
            "program": {**program, "code": str(PROGRAMS / "own_names")},
        },
    )
    assert {trial["params"]["lr"]: trial["value"] for trial in trials} == {0.25: 15.5, 0.5: 20.5}
