"""The environment of a trial is that of `podium serve`, plus a documented list; on a real service with a real Ray."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.sweep.runtime.thread_count_variables import THREAD_VARIABLES
from podium.sweep.trial_process.wandb_environment import HOOK_FOLDER
from tests.repository import ROOT
from tests.running_service import RunningService, function_sweep

DOCS = ROOT / "docs" / "reference" / "environment.md"
PODIUM_VARIABLES = {
    "PODIUM_ARTIFACTS", "PODIUM_METRICS", "PODIUM_OBJECTIVES", "PODIUM_PARAMS", "PODIUM_SEED", "PODIUM_TRIAL",
}  # fmt: skip
WANDB_VARIABLES = {
    "WANDB_CONSOLE",
    "WANDB_DIR",
    "WANDB_DISABLE_GIT",
    "WANDB_ERROR_REPORTING",
    "WANDB_MODE",
    "WANDB_QUIET",
    "WANDB_SWEEP_PARAM_PATH",
    "WANDB_X_DISABLE_STATS",
}
OF_EVERY_TRIAL = {"CUDA_VISIBLE_DEVICES", "TMPDIR", *THREAD_VARIABLES, *WANDB_VARIABLES}
OF_A_SCRIPT = {"PATH", "PYTHONPATH", "PYTHONUNBUFFERED", *PODIUM_VARIABLES}
LISTED = OF_EVERY_TRIAL | OF_A_SCRIPT - {"PATH", "PYTHONPATH"}
MAIN = """import json, os, sys
from parts.inner import NAME  # a package next to the script
import sibling
print("environment:", json.dumps(dict(os.environ)))
print("path:", json.dumps(sys.path))
print("hooks:", json.dumps([sibling.NAME, NAME, getattr(sys, "users_own_hook", None)]))
print("score 1")
"""
FUNCTION = """import json, os
def objective(trial):
    print("environment:", json.dumps(dict(os.environ)))
    return 1.0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of several files, and a `sitecustomize` of the user's."""
    folder = tmp_path_factory.mktemp("environment")
    files = {
        "code/main.py": MAIN,
        "code/sibling.py": "NAME = 'sibling'\n",
        "code/parts/__init__.py": "",
        "code/parts/inner.py": "NAME = 'inner'\n",
        "code/functions.py": FUNCTION,
        "own/sitecustomize.py": "import sys\nsys.users_own_hook = 'ran'\n",
    }
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@pytest.fixture(scope="module")
def given(folder: Path) -> dict[str, str]:
    """The environment in which the user starts the service."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in LISTED and not name.startswith(("PODIUM_", "RAY_"))
    }
    return {
        **kept,
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(folder / "own"),
        "SETTING_OF_THE_USER": "a = b\nc",
        "OMP_NUM_THREADS": "7",
        "RAY_DEDUP_LOGS": "0",
    }


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, given: dict[str, str]) -> Iterator[RunningService]:
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - given.keys():
            patch.delenv(name)
        secrets = {"PODIUM_TOKEN": "a token", "RAY_AUTH_TOKEN": "0f" * 32}
        folder = tmp_path_factory.mktemp("service") / "data"
        with RunningService(folder, "cpu:1", environment={**given, **secrets}) as running:
            yield running


def _said(service: RunningService, code: Path, program: dict[str, Any]) -> dict[str, Any]:
    """The JSON that the only trial of a sweep printed."""
    document = {**function_sweep(code, ""), "run_cap": 1, "program": {**program, "code": str(code)}}
    sweep = service.client.submit(document)
    assert service.client.wait(sweep["id"], 120)["state"] == "finished"
    (trial,) = service.client.trials(sweep["id"])
    lines = service.client.log(trial["id"]).splitlines()
    found = [match for line in lines if (match := re.fullmatch(r"(\w+): ([{\[].*)", line))]
    return {match[1]: json.loads(match[2]) for match in found}


def test_script_has_environment_of_user_and_documented_variables(
    service: RunningService, folder: Path, given: dict[str, str]
) -> None:
    program = {
        "command": ["python", "main.py", "${args}"],
        "metrics": {"score": "auto"},
        "env": {"OWN": "x is ${x}", "MKL_NUM_THREADS": "3"},
    }
    said = _said(service, folder / "code", program)
    environment = said["environment"]
    listed = {*OF_EVERY_TRIAL, *OF_A_SCRIPT, "OWN"}
    assert {name for name in environment if environment[name] != given.get(name)} == listed
    assert given.keys() - environment.keys() == set()
    assert environment["PATH"].endswith(f"{os.pathsep}{given['PATH']}")
    assert environment["PYTHONPATH"] == f"{HOOK_FOLDER}{os.pathsep}{given['PYTHONPATH']}"
    assert environment["MKL_NUM_THREADS"] == "3" and environment["OWN"].startswith("x is 0.")
    assert said["hooks"] == ["sibling", "inner", "ran"]
    assert str(HOOK_FOLDER) not in said["path"] and said["path"][1] == given["PYTHONPATH"]


def test_function_has_environment_of_user_and_documented_variables(
    service: RunningService, folder: Path, given: dict[str, str]
) -> None:
    program = {"function": "functions:objective", "env": {"OWN": "x is ${x}", "OMP_NUM_THREADS": "3"}}
    environment = _said(service, folder / "code", program)["environment"]
    assert {name for name in environment if environment[name] != given.get(name)} == {*OF_EVERY_TRIAL, "OWN"}
    assert given.keys() - environment.keys() == set()
    assert environment["OMP_NUM_THREADS"] == "3" and environment["OWN"].startswith("x is 0.")


def test_variables_are_documented() -> None:
    text = DOCS.read_text()
    assert [name for name in sorted(OF_EVERY_TRIAL | OF_A_SCRIPT) if f"`{name}`" not in text] == []
