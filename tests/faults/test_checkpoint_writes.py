"""A trial that is killed while it writes a checkpoint leaves a valid one."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import torch

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.trial_process import trial_checkpoints


def test_kill_during_a_write_leaves_a_valid_checkpoint(tmp_path: Path) -> None:
    folder = AttemptDirectory(tmp_path)
    folder.prepare()
    trial_checkpoints.save(folder.checkpoint, torch.nn.Linear(2, 1), None, 1)
    draw = random.Random(0)
    for _ in range(40):
        before = trial_checkpoints.load(folder.checkpoint).epoch
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            _write_until_killed(folder.checkpoint, before, writing)
        os.close(writing)
        os.read(reading, 1)  # it has started to write
        for _ in range(draw.randrange(2000)):
            pass
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reading)
        assert trial_checkpoints.load(folder.checkpoint).epoch >= before


def _write_until_killed(path: Path, epoch: int, writing: int) -> None:
    model = torch.nn.Linear(64, 64)
    os.write(writing, b"w")
    while True:
        epoch += 1
        trial_checkpoints.save(path, model, None, epoch)
