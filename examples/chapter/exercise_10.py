"""Row 25, exercise 10: asynchronous against synchronous updates, timed to a target; then the network over devices.

`torchrun --nproc-per-node 2 exercise_10.py`
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import torch
from sklearn.datasets import load_digits
from torch import nn

from podium import parallel

TARGET, CHECK_STEPS, MAX_CHECKS = 0.85, 25, 40
digits = load_digits()
inputs, targets = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)


def network() -> nn.Sequential:
    """The same initial network in each mode."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def accuracy(predict: Callable[[torch.Tensor], torch.Tensor]) -> float:
    """On rows that are not trained on."""
    with torch.no_grad():
        return float((predict(inputs[1400:]).argmax(1) == targets[1400:]).float().mean())


def replicas(group: parallel.Group, mode: str) -> tuple[float, float, int]:
    """Seconds, accuracy and updates until the target, or until the last check."""
    model, updates, reached = network(), 0, 0.0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows, began = torch.Generator().manual_seed(group.rank), time.perf_counter()
    for _ in range(MAX_CHECKS):
        made = (
            parallel.SynchronousWithSpares(group, model, optimizer, spares=0)
            if mode == "synchronous"
            else parallel.Asynchronous(group, model, optimizer, max_staleness=2 * group.size, stale="scale")
        )
        with made as trainer:
            while trainer.global_step < CHECK_STEPS:
                some = torch.randint(1400, (32,), generator=rows)
                trainer.step(lambda s=some: nn.functional.cross_entropy(trainer.model(inputs[s]), targets[s]))
        updates, reached = updates + trainer.global_step, accuracy(model)  # the same on every rank
        if reached >= TARGET:
            break
    return time.perf_counter() - began, reached, updates


def split_over_devices(group: parallel.Group) -> tuple[float, float, int]:
    """The same, with the layers on different devices."""
    pipeline = parallel.Pipeline(group, network(), nn.functional.cross_entropy, partial(torch.optim.SGD, lr=0.1),
                                 batch_size=64, microbatches=4)  # fmt: skip
    rows, began, updates, reached = torch.Generator().manual_seed(0), time.perf_counter(), 0, 0.0
    while reached < TARGET and updates < CHECK_STEPS * MAX_CHECKS:
        some = torch.randint(1400, (64,), generator=rows)
        pipeline.step(inputs[some], targets[some])
        updates += 1
        if updates % CHECK_STEPS == 0:
            reached = accuracy(pipeline.predict)
    return time.perf_counter() - began, reached, updates


if __name__ == "__main__":
    with parallel.join() as group:
        modes = {mode: partial(replicas, mode=mode) for mode in ("synchronous", "asynchronous")}
        for mode, run in {**modes, "split over devices": split_over_devices}.items():
            took_s, reached, updates = run(group)
            if group.rank == 0:
                print(f"{mode}: accuracy {reached:.3f} after {took_s:.1f} s and {updates} updates")
