"""The process template serves without torch's compiler if a package that the compiler imports is broken."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BROKEN = "raise RuntimeError('triton needs a newer driver')\n"
PROGRAM = """
from podium.sweep.process_template import template_process
template_process.warm_up()
import torch
print(int(torch.ones(2).sum()))
"""


@pytest.mark.parametrize("package", ["triton", "none"])
def test_template_warms_up_without_the_compiler_and_says_once_why(tmp_path: Path, package: str) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(BROKEN)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    said = [line for line in done.stderr.splitlines() if "cannot import torch._dynamo" in line]
    assert len(said) == (package == "triton")
    assert all("RuntimeError: triton needs a newer driver" in line and "optimizers" in line for line in said)
