"""The rules of the house that a machine can check: names, first lines, and who loads what."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("sweep", "ensemble", "api", "db")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
VAGUE = {"utils", "util", "common", "helpers", "helper", "manager", "core", "base", "misc"}

# Who may not load what, in a process of its own: a trial or a member must not wait for a web server's libraries, nor
# may the gateway wait for torch.
LIGHT = {
    "ensemble.member_actor": ("api", "db", "optuna", "sqlalchemy", "fastapi", "torch"),
    "sweep.ray_slot": ("api", "db", "optuna", "sqlalchemy", "fastapi", "torch"),
    "sweep.attempt": ("api", "db", "optuna", "sqlalchemy", "fastapi", "torch", "ray"),
    "ensemble.member": ("api", "db", "optuna", "sqlalchemy", "fastapi", "ray"),
    "api.app": ("torch", "ray", "optuna", "sklearn"),
    "api.gateway": ("torch", "ray", "optuna", "sklearn"),
    "api.client": ("torch", "ray", "optuna", "sqlalchemy", "fastapi"),
    "sweep.spec_file": ("torch", "ray", "optuna", "sqlalchemy", "fastapi", "numpy"),
}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", [*MODULES, *TESTS], ids=name)
def test_every_module_says_in_its_first_line_what_it_is_for(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring, f"{name(path)} has no docstring"
    assert docstring.splitlines()[0].strip()


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"], ids=name)
def test_a_package_is_its_docstring(path: Path) -> None:
    assert len(ast.parse(path.read_text()).body) == 1


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert not [name(path) for path in [*MODULES, *TESTS] if path.stem in VAGUE]


@pytest.mark.parametrize(("module", "heavy"), LIGHT.items(), ids=LIGHT)
def test_a_module_does_not_load_what_its_process_has_no_use_for(module: str, heavy: tuple[str, ...]) -> None:
    script = f"import sys, {module}\nprint(*[name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []


def test_the_import_rules_hold() -> None:
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    linter = shutil.which("lint-imports", path=beside)
    assert linter is not None, "import-linter is not installed"
    done = subprocess.run([linter, "--no-cache"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout
