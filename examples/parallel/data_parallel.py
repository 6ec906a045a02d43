"""Data parallel training on the digits: `torchrun --nproc-per-node 4 data_parallel.py sync|spares|async`.

Prints the updates, the gradients that were dropped, and the accuracy of the network that all replicas have at the end.
Runs alone, too: `python data_parallel.py sync`.
"""

from __future__ import annotations

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn

from podium import parallel

Trainer = parallel.Synchronous | parallel.SynchronousWithSpares | parallel.Asynchronous


def trainer_of(mode: str, group: parallel.Group, model: nn.Module) -> Trainer:
    """The three modes differ in this function only."""
    if mode == "sync":
        return parallel.Synchronous(group, model, torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9))
    if mode == "spares":
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
        return parallel.SynchronousWithSpares(group, model, optimizer, spares=min(1, group.size - 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)  # stale gradients need a lower learning rate
    return parallel.Asynchronous(group, model, optimizer, max_staleness=2 * group.size, stale="scale", warm_up_steps=20)


def main() -> None:
    """Train, and let rank 0 print the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=("sync", "spares", "async"))
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    torch.manual_seed(0)
    digits = load_digits()
    inputs = torch.tensor(digits.data, dtype=torch.float32) / 16
    targets = torch.tensor(digits.target)
    with parallel.join() as group:
        model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(group.device)
        # Each replica draws from all rows, with its own seed: no row depends on a replica that is slow.
        drawn = torch.Generator().manual_seed(group.rank)
        with trainer_of(options.mode, group, model) as trainer:
            while trainer.global_step < options.steps:
                rows = torch.randint(1400, (32,), generator=drawn)
                x, y = inputs[rows].to(group.device), targets[rows].to(group.device)
                trainer.step(lambda x=x, y=y: nn.functional.cross_entropy(trainer.model(x), y))
        correct = model(inputs[1400:].to(group.device)).argmax(1).cpu() == targets[1400:]
        if group.rank == 0:
            dropped = getattr(trainer, "dropped", 0)
            print(f"updates {trainer.global_step}, dropped {dropped}, accuracy {correct.float().mean():.3f}")


if __name__ == "__main__":
    main()
