"""What components share: imports without threads and without Ray, Optuna and torch, in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import gc, json, os, sys
from pathlib import Path
from podium.api.serve import shared_imports
from podium.sweep.runtime.fork_without_hooks import count_threads

os.environ["OMP_NUM_THREADS"] = "3"
before = set(os.listdir("/proc/self/fd"))
variables = dict(os.environ)
shared_imports.import_shared(shared_imports.DATABASE)
shared_imports.import_shared(shared_imports.COMPONENTS)
print(json.dumps({
    "threads": count_threads(),
    "descriptors": sorted(set(os.listdir("/proc/self/fd")) - before),
    "changed": variables != dict(os.environ),
    "frozen": gc.get_freeze_count() > 0,
    "loaded": [name for name in ("numpy", "torch", "ray", "optuna", "sklearn") if name in sys.modules],
    "missing": [name for name in shared_imports.COMPONENTS if name not in sys.modules],
    "loops": "asyncio" in sys.modules and __import__("asyncio")._get_running_loop() is not None,
}))
"""


def run(script: str, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, *arguments],
        env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def test_shared_imports_leave_a_process_that_can_be_forked() -> None:
    assert json.loads(run(SCRIPT)) == {
        "threads": 1,
        "descriptors": [],
        "changed": False,
        "frozen": True,
        "loaded": ["numpy"],
        "missing": [],
        "loops": False,
    }


def test_module_that_cannot_be_imported_is_left_to_its_component(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise ValueError('not here')")
    script = """
import sys
from podium.api.serve.shared_imports import import_shared
import_shared(["broken", "json.tool"])
print("broken" in sys.modules, "json.tool" in sys.modules)
"""
    assert run(script, PYTHONPATH=str(tmp_path)) == "False True\n"


def test_nothing_more_is_imported_once_the_service_is_stopping() -> None:
    script = """
import sys
from podium.api.serve.shared_imports import import_shared
import_shared(["json.tool"], lambda: True)
print("json.tool" in sys.modules)
"""
    assert run(script) == "False\n"
