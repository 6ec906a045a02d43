"""The process template does without the compiler or a rehearsal; it does not start if children could not be forked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BROKEN = "raise RuntimeError('triton needs a newer driver')\n"
PROGRAM = """
from podium.sweep.process_template import template_imports
template_imports.import_first()
template_imports.import_rest()
import torch
print(int(torch.ones(2).sum()))
"""
FULL_DISK = """
import errno, os, pathlib
def write_text(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
pathlib.Path.write_text = write_text
"""
THREAD = "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"


def _run(program: str, path: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(path), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-P", "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_template_warms_up_without_the_compiler_and_says_once_why(tmp_path: Path) -> None:
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text(BROKEN)
    done = _run(PROGRAM, tmp_path)
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    (said,) = [line for line in done.stderr.splitlines() if "cannot import torch._dynamo" in line]
    assert "RuntimeError: triton needs a newer driver" in said and "optimizers" in said


def test_template_warms_up_without_a_rehearsal_and_says_once_why(tmp_path: Path) -> None:
    done = _run(FULL_DISK + PROGRAM, tmp_path)
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    (said,) = [line for line in done.stderr.splitlines() if "cannot rehearse attempts" in line]
    assert "OSError: [Errno 28] No space left on device" in said


@pytest.mark.slow
def test_template_with_a_thread_refuses_to_serve_since_fork_would_lose_it(tmp_path: Path) -> None:
    done = _run(THREAD + PROGRAM, tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "the process template has 2 threads after its imports; fork() would lose them" in done.stderr
