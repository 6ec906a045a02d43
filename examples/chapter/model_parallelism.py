"""Row 17, model parallelism: the layers of one network on several devices give the losses of one device.

`torchrun --nproc-per-node 2 model_parallelism.py`
"""

from __future__ import annotations

import copy
import time
from functools import partial

import torch
from sklearn.datasets import load_digits
from torch import nn

from podium import parallel

BATCH_SIZE, STEPS = 64, 30


def main() -> None:
    """Train the same network alone and as a pipeline; rank 0 prints the largest difference of their losses."""
    digits = load_digits()
    inputs, targets = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    torch.manual_seed(0)
    batches = [torch.randint(1400, (BATCH_SIZE,)) for _ in range(STEPS)]
    hidden = [layer for _ in range(3) for layer in (nn.Linear(256, 256), nn.ReLU())]
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), *hidden, nn.Linear(256, 10))
    alone, optimizer_of = copy.deepcopy(model), partial(torch.optim.SGD, lr=0.1)
    optimizer, expected = optimizer_of(alone.parameters()), []
    began = time.perf_counter()
    for rows in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(alone(inputs[rows]), targets[rows])
        torch.autograd.backward(loss)
        optimizer.step()
        expected.append(float(loss.detach()))
    alone_s = time.perf_counter() - began
    with parallel.join() as group:
        for schedule in ("gpipe", "1f1b"):
            pipeline = parallel.Pipeline(
                group, copy.deepcopy(model), nn.functional.cross_entropy, optimizer_of,
                batch_size=BATCH_SIZE, microbatches=4, schedule=schedule,
            )  # fmt: skip
            began = time.perf_counter()
            losses = [pipeline.step(inputs[rows], targets[rows]) for rows in batches]
            took_s = time.perf_counter() - began
            difference = max(abs(loss - wanted) for loss, wanted in zip(losses, expected, strict=True))
            if group.rank == 0:
                print(
                    f"{schedule} over {group.size} devices: losses differ by {difference:.0e}, "
                    f"{1000 * took_s / STEPS:.1f} ms a step; alone {1000 * alone_s / STEPS:.1f} ms"
                )


if __name__ == "__main__":
    main()
