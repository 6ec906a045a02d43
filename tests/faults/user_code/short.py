"""Programs of the trials that are killed: short; each run writes a line, so that every run is known."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import torch

RUNS = Path(__file__).with_name("runs")


def nap(trial: Any) -> float:
    _append_line(trial)
    time.sleep(trial.params["seconds"])
    return float(trial.params["x"])


def reports(trial: Any) -> float:
    _append_line(trial)
    for step in range(1, 9):
        time.sleep(trial.params["seconds"] / 8)
        trial.report(trial.params["x"] * step, step)
        if trial.should_prune():
            raise trial.Pruned
    return float(trial.params["x"])


def saves(trial: Any) -> float:
    _append_line(trial)
    for step in range(1, 4):
        time.sleep(trial.params["seconds"] / 3)
        trial.save_model(torch.nn.Linear(64, 64))
        trial.report(trial.params["x"], step)
    return float(trial.params["x"])


def litters(trial: Any) -> float:
    """Leaves a process behind that tries to survive."""
    _append_line(trial)
    left = subprocess.Popen(["sleep", "600"], start_new_session=True)
    time.sleep(trial.params["seconds"])
    assert left.poll() is None
    left.returncode = 0  # never awaited: avoids a warning of Python
    return float(trial.params["x"])


def _append_line(trial: Any) -> None:
    descriptor = os.open(RUNS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, f"{trial.directory.root} {os.getpid()}\n".encode())
    os.close(descriptor)
