"""Checks of code conventions: names, first docstring lines, and imports at run time."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.repository import ROOT

PACKAGES = ("sweep", "ensemble", "api", "db")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
VAGUE = {"utils", "util", "common", "helpers", "helper", "manager", "core", "base", "misc"}

# Modules that a component must not load, in a separate process: a trial or a member must not wait for web server
# libraries, and the gateway must not wait for torch.
NOT_FOR_TRIALS = ("podium.api", "podium.db", "optuna", "sqlalchemy", "fastapi")
LIGHT = {
    "podium": ("podium.api", "podium.db", "podium.sweep", "podium.ensemble", "numpy", "pydantic", "httpx2"),
    "podium.ensemble.worker.control_messages": (*NOT_FOR_TRIALS, "torch"),
    "podium.sweep.process_template.template": (*NOT_FOR_TRIALS, "torch", "ray"),
    "podium.sweep.slots.ray_slot_actor": (*NOT_FOR_TRIALS, "torch"),
    "podium.sweep.trial_process.attempt": (*NOT_FOR_TRIALS, "torch", "ray"),
    "podium.ensemble.worker.worker_server": (*NOT_FOR_TRIALS, "ray"),
    "podium.api.rest.app": ("torch", "ray", "optuna", "sklearn"),
    "podium.api.gateway.main": ("torch", "ray", "optuna", "sklearn"),
    "podium.api.client.client": ("torch", "ray", "optuna", "sqlalchemy", "fastapi"),
    "podium.sweep.specfile.spec_file": ("torch", "ray", "optuna", "sqlalchemy", "fastapi", "numpy"),
}

UNIT = ROOT / "tests" / "unit"
UNIT_FOLDERS = sorted({path.relative_to(UNIT).parts[0] for path in UNIT.rglob("*/test_*.py")})

# Imports the conftest modules and the named test modules, and prints the first one after which torch is imported.
IMPORT_TESTS = """
import importlib
import sys

for name in ["tests.conftest", "tests.unit.conftest", *sys.argv[1:]]:
    importlib.import_module(name)
    if "torch" in sys.modules:
        print(name)
        break
"""


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", [*MODULES, *TESTS], ids=name)
def test_module_has_a_docstring(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring, f"{name(path)} has no docstring"
    assert docstring.splitlines()[0].strip()


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"], ids=name)
def test_package_contains_only_its_docstring(path: Path) -> None:
    assert len(ast.parse(path.read_text()).body) == 1


def test_no_module_has_a_vague_name() -> None:
    assert not [name(path) for path in [*MODULES, *TESTS] if path.stem in VAGUE]


@pytest.mark.parametrize(("module", "heavy"), LIGHT.items(), ids=LIGHT)
def test_module_does_not_import_heavy_packages(module: str, heavy: tuple[str, ...]) -> None:
    script = f"import sys, {module}\nprint(*[name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []


@pytest.mark.parametrize("folder", UNIT_FOLDERS)
def test_unit_tests_do_not_import_torch(folder: str) -> None:
    paths = sorted((UNIT / folder).rglob("test_*.py"))
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    command = [sys.executable, "-c", IMPORT_TESTS, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [], "move it to tests/contract/PACKAGE/ROOM, or import torch in the product lazily"


def test_every_room_is_in_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (floors,) = [contract["layers"] for contract in contracts if contract["id"] == "floors"]
    listed = {room for line in floors for room in line.split(" | ")}
    folders = [path.parent for package in PACKAGES for path in ROOT.glob(f"{package}/*/__init__.py")]
    assert listed == {f"podium.{folder.parent.name}.{folder.name}" for folder in folders}


def test_modules_are_in_rooms() -> None:
    modules = [path for package in PACKAGES for path in ROOT.glob(f"{package}/*.py")]
    assert [name(path) for path in modules if path.stem != "__init__"] == []


def test_import_contracts_hold() -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    linter = shutil.which("lint-imports", path=path)
    assert linter is not None, "import-linter is not installed"
    done = subprocess.run([linter, "--no-cache"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout
