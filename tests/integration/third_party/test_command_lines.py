"""Scripts of several files with argparse, click, fire, jsonargparse and Hydra, swept without a change."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.program_sweeps import PROGRAMS, run_program, values
from tests.running_service import RunningService

PARSERS = ["argparse", "click", "fire", "jsonargparse"]


def printed(folder: Path, script: str, words: list[str], pattern: str, where: Path) -> list[float]:
    """The output of the script without Podium."""
    done = subprocess.run(
        [sys.executable, str(folder / script), *words], cwd=where, capture_output=True, text=True, check=True
    )
    return [float(found) for found in re.findall(pattern, done.stdout)]


def document(folder: str, script: str, arguments: str, **more: Any) -> dict[str, Any]:
    return {
        "name": f"{folder}-{script}",
        "method": "random",
        "run_cap": 2,
        "program": {"command": ["python", script, arguments], "code": str(PROGRAMS / folder), **more.pop("program")},
        **more,
    }


@pytest.mark.parametrize(
    "parser", [pytest.param(name, marks=() if name == "argparse" else pytest.mark.slow) for name in PARSERS]
)
def test_script_with_sibling_imports_gives_same_result_as_alone(
    service: RunningService, parser: str, tmp_path: Path
) -> None:
    script = f"train_{parser}.py"
    trials = run_program(
        service,
        document(
            "command_line",
            script,
            "${args}",
            metric={"name": "val_loss", "goal": "minimize"},
            parameters={"lr": {"min": 0.01, "max": 1, "log": True}, "momentum": {"values": [0.0, 0.5, 0.9]}},
            program={"metrics": {"step": "epoch ${number}", "val_loss": "auto"}},
        ),
    )
    assert len({trial["value"] for trial in trials}) == 2
    for trial in trials:
        words = [f"--{name}={value}" for name, value in trial["params"].items()]
        expected = printed(PROGRAMS / "command_line", script, words, r"val_loss=(\S+)", tmp_path)
        assert values(trial, "val_loss") == pytest.approx(expected, rel=1e-12)
        assert trial["value"] == pytest.approx(expected[-1], rel=1e-12)


@pytest.mark.slow
def test_hydra_receives_list_of_overrides(service: RunningService, tmp_path: Path) -> None:
    trials = run_program(
        service,
        document(
            "hydra_app",
            "train.py",
            "${args_no_hyphens}",
            metric={"name": "mse", "goal": "minimize"},
            parameters={
                "optimizer.lr": {"min": 0.01, "max": 0.5, "log": True},
                "optimizer.momentum": {"values": [0.0, 0.9]},
                "model.degree": {"min": 1, "max": 5},
                "epochs": {"value": 3},
            },
            program={"metrics": {"mse": "mse ${number}"}},
        ),
    )
    for trial in trials:
        words = [f"{name}={value}" for name, value in trial["params"].items()]
        expected = printed(PROGRAMS / "hydra_app", "train.py", words, r"mse (\S+)", tmp_path)
        assert len(expected) == 3
        assert values(trial, "mse") == pytest.approx(expected, rel=1e-12)
