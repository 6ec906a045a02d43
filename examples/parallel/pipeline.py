"""A network whose layers are on several devices, on the digits: `torchrun --nproc-per-node 2 pipeline.py [gpipe]`."""

from __future__ import annotations

import sys
from functools import partial

import torch
from sklearn.datasets import load_digits
from torch import nn

from podium import parallel

BATCH_SIZE = 100


def main() -> None:
    """Train ten epochs, and let rank 0 print the accuracy."""
    digits = load_digits()
    inputs = torch.tensor(digits.data, dtype=torch.float32) / 16
    targets = torch.tensor(digits.target)
    torch.manual_seed(0)  # the same weights and the same order of the rows on every rank
    hidden = [layer for _ in range(3) for layer in (nn.Linear(128, 128), nn.ReLU())]
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), *hidden, nn.Linear(128, 10))
    with parallel.join() as group:
        pipeline = parallel.Pipeline(
            group,
            model,
            nn.functional.cross_entropy,
            partial(torch.optim.Adam, lr=0.003),
            batch_size=BATCH_SIZE,
            microbatches=4,
            schedule="gpipe" if "gpipe" in sys.argv else "1f1b",
        )
        loss = 0.0
        for _ in range(10):
            for rows in torch.split(torch.randperm(1400), BATCH_SIZE):
                loss = pipeline.step(inputs[rows], targets[rows])
        correct = pipeline.predict(inputs[1400:]).argmax(1) == targets[1400:]
        if group.rank == 0:
            print(f"stages {group.size}, loss {loss:.3f}, accuracy {correct.float().mean():.3f}")


if __name__ == "__main__":
    main()
