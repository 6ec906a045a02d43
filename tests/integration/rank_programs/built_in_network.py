"""Trains the built-in MLP on the digits by a mode, and prints its curve as JSON: FOLDER, MODE."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from torch import nn

from podium import parallel
from podium.sweep.data import datasets
from podium.sweep.networks.dataset_batches import TrainingRows
from podium.sweep.training.learner import Learner, architecture_of, complete_settings
from podium.sweep.training.replicated_learner import DataParallel, ReplicatedLearner

SPLIT = {"split": [0.7, 0.1, 0.1, 0.1], "seed": 0}
SPEC = {"model": "mlp", "data": {"name": "digits"}}
EPOCHS = 3
CPU = torch.device("cpu")


def trainer_of(group: parallel.Group, model: nn.Module, optimizer: torch.optim.Optimizer) -> DataParallel:
    """The mode of the command line."""
    if sys.argv[2] == "sync":
        return parallel.Synchronous(group, model, optimizer)
    return parallel.SynchronousWithSpares(group, model, optimizer, spares=1)


def learner(folder: Path, group: parallel.Group | None = None) -> Learner:
    """The same network and rows in each process."""
    torch.manual_seed(1)
    data = datasets.load(SPEC["data"], SPLIT, folder)  # type: ignore[arg-type]
    architecture = architecture_of(data, complete_settings("mlp", {"hidden": 16, "batch_size": 100}), SPEC, SPLIT)
    rows = TrainingRows(data, data.rows["train"], CPU)
    if group is None:
        return Learner(data, architecture, rows, CPU, 3)
    return ReplicatedLearner(data, architecture, rows, CPU, 3, group=group, trainer_of=trainer_of)


def curve(of: Learner) -> list[dict[str, float]]:
    """Losses and metrics of each epoch."""
    return [{"train_loss": of.train_epoch(), **of.measure()} for _ in range(EPOCHS)]


def main() -> None:
    """Print what this rank measures."""
    torch.set_num_threads(1)
    with parallel.join(join_timeout_s=120, timeout_s=60) as group:
        found = curve(learner(Path(sys.argv[1]) / str(group.rank), group))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
