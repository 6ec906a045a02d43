"""Replicas of a small network on the digits, with devices of a given speed: STEPS STEP_S SLOW_TIMES.

Prints for each mode, and without and with a slow replica, the updates per second and the accuracy afterwards. A step
computes the loss, sleeps until its time is over, and then computes the real gradient: each replica has a device of its
own, however few cores the machine has. In asynchronous training, the gradients of the slow replica exceed the bound of
staleness and are dropped.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass

import torch
from sklearn.datasets import load_digits
from torch import nn

from podium import parallel

SLOW_RANKS = {"undisturbed": None, "one slow": -1}
TRAIN_ROWS = 1400


@dataclass(frozen=True)
class Speed:
    """The updates, and the seconds of a step on this replica's device, without the backward pass."""

    steps: int
    step_s: float


Trainer = parallel.Synchronous | parallel.SynchronousWithSpares | parallel.Asynchronous


def trainer_of(mode: str, group: parallel.Group, model: nn.Module) -> Trainer:
    """A trainer of each mode, with the same optimizer."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if mode == "sync":
        return parallel.Synchronous(group, model, optimizer)
    if mode == "spares":
        return parallel.SynchronousWithSpares(group, model, optimizer, spares=1)
    return parallel.Asynchronous(group, model, optimizer, max_staleness=2 * group.size)


def train(mode: str, group: parallel.Group, speed: Speed) -> dict[str, float]:
    """Updates per second as this replica sees them, and the accuracy of the final network."""
    torch.manual_seed(0)
    digits = load_digits()
    inputs = torch.tensor(digits.data, dtype=torch.float32) / 16
    targets = torch.tensor(digits.target)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    drawn = torch.Generator().manual_seed(group.rank)
    trainer = trainer_of(mode, group, model)

    def loss() -> torch.Tensor:
        due = time.monotonic() + speed.step_s
        rows = torch.randint(TRAIN_ROWS, (32,), generator=drawn)
        found = nn.functional.cross_entropy(trainer.model(inputs[rows]), targets[rows])
        time.sleep(max(0.0, due - time.monotonic()))
        return found

    with trainer:
        group.barrier()
        began = time.perf_counter()
        while trainer.global_step < speed.steps:
            trainer.step(loss)
        rate = trainer.global_step / (time.perf_counter() - began)
    with torch.no_grad():
        right = model(inputs[TRAIN_ROWS:]).argmax(1) == targets[TRAIN_ROWS:]
    return {"steps_per_s": rate, "accuracy": float(right.float().mean())}


def main() -> None:
    """Let each mode train without and with a slow last replica; rank 1 prints."""
    steps, step_s, slow_times = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    torch.set_num_threads(1)
    found = {}
    with parallel.join() as group:
        for mode in ("sync", "spares", "async"):
            train(mode, group, Speed(2, step_s))  # imports and buffers
            for name, slow in SLOW_RANKS.items():
                is_slow = slow is not None and group.rank == slow % group.size
                speed = Speed(steps, step_s * (slow_times if is_slow else 1.0))
                found[f"{mode}, {name}"] = train(mode, group, speed)
        if group.rank == 1:
            print(json.dumps(found))


if __name__ == "__main__":
    main()
