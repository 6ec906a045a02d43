"""Row 18, synchronous data parallelism: the slowest replica decides, unless its gradients are spare.

`torchrun --nproc-per-node 3 synchronous_replicas.py`: the last replica is slow.
"""

from __future__ import annotations

import time

import torch
from sklearn.datasets import load_digits
from torch import nn

from podium import parallel

STEPS, SLOW_S = 40, 0.1


def main() -> None:
    """Train with all gradients, then with all but one, and let rank 0 print the steps per second."""
    digits = load_digits()
    inputs, targets = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    with parallel.join() as group:
        slow = group.rank == group.size - 1
        for spares in (0, 1):
            torch.manual_seed(0)
            model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
            rows = torch.Generator().manual_seed(group.rank)  # of all rows: none depends on the slow replica
            with parallel.SynchronousWithSpares(group, model, optimizer, spares=spares) as trainer:
                began = time.perf_counter()
                while trainer.global_step < STEPS:
                    some = torch.randint(1400, (32,), generator=rows)
                    x, y = inputs[some], targets[some]
                    time.sleep(SLOW_S if slow else 0)
                    trainer.step(lambda x=x, y=y: nn.functional.cross_entropy(trainer.model(x), y))
                took_s = time.perf_counter() - began
            correct = (model(inputs[1400:]).argmax(1) == targets[1400:]).float().mean()
            if group.rank == 0:
                counted = group.size - spares
                print(
                    f"first {counted} of {group.size} gradients: {STEPS / took_s:.1f} steps/s with a replica that "
                    f"needs {1000 * SLOW_S:.0f} ms more, accuracy {correct:.3f}"
                )


if __name__ == "__main__":
    main()
