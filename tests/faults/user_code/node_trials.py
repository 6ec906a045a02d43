"""Programs of trials on nodes: checkpoints in each epoch, and files at the end whose hashes go to the database."""

from __future__ import annotations

import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from node_files import write_files  # type: ignore[import-not-found]  # next to it in the code of the sweep

EPOCHS = 8


def weights(trial: Any) -> float:
    """Its checkpoint is one file."""
    _append_line(trial)
    model = torch.nn.Linear(64, 256)
    found = trial.resume()
    first = 0 if found is None else found.epoch + 1
    for epoch in range(first, EPOCHS):
        _train(trial, first, epoch)
        trial.save_checkpoint(model, epoch=epoch)
    return _end(trial)


def folders(trial: Any) -> float:
    """Its checkpoint is a folder with several files."""
    _append_line(trial)
    found = trial.resume_folder()
    first = 0 if found is None else found.iteration + 1
    for epoch in range(first, EPOCHS):
        _train(trial, first, epoch)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("weights", "optimizer", "deep/state"):
                path = Path(folder, name)
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(random.Random(epoch).randbytes(50_000))
            trial.save_checkpoint_folder(Path(folder), epoch)
    return _end(trial)


def _train(trial: Any, first: int, epoch: int) -> None:
    if epoch == first:
        print("begins at", first, flush=True)
    time.sleep(trial.params["seconds"] / EPOCHS)
    trial.report(trial.params["x"] * (epoch + 1), epoch)


def _end(trial: Any) -> float:
    write_files(trial)
    print("done", flush=True)
    return float(trial.params["x"])


def _append_line(trial: Any) -> None:
    descriptor = os.open(trial.params["runs"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, f"{'/'.join(trial.directory.root.parts[-3:])} {os.getpid()}\n".encode())
    os.close(descriptor)
