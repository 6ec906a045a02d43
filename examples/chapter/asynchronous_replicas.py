"""Row 19, asynchronous data parallelism: no replica waits; stale gradients are dropped or scaled down.

`torchrun --nproc-per-node 3 asynchronous_replicas.py`: the last replica is slow, so its gradients are stale.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from sklearn.datasets import load_digits
from torch import nn

from podium import parallel

UPDATES, SLOW_S, BOUND = 200, 0.1, 4
MODES: dict[str, dict[str, Any]] = {
    "no bound": {},
    "dropped above the bound": {"max_staleness": BOUND, "stale": "drop"},
    "scaled, after a warm-up": {"max_staleness": BOUND, "stale": "scale", "warm_up_steps": 20},
}


def main() -> None:
    """Train in each mode, and let the slow replica tell how many of its gradients counted."""
    digits = load_digits()
    inputs, targets = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    with parallel.join() as group:
        slow = group.rank == group.size - 1
        for mode, options in MODES.items():
            torch.manual_seed(0)
            model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.05)  # lower than for synchronous updates
            rows, sent = torch.Generator().manual_seed(group.rank), 0
            with parallel.Asynchronous(group, model, optimizer, **options) as trainer:
                while trainer.global_step < UPDATES:
                    some = torch.randint(1400, (32,), generator=rows)
                    x, y = inputs[some], targets[some]
                    time.sleep(SLOW_S if slow else 0.002)
                    trainer.step(lambda x=x, y=y: nn.functional.cross_entropy(trainer.model(x), y))
                    sent += 1
            correct = (model(inputs[1400:]).argmax(1) == targets[1400:]).float().mean()
            if slow:
                print(f"{mode}: accuracy {correct:.3f}, {trainer.dropped} of {sent} gradients of the slow one dropped")


if __name__ == "__main__":
    main()
