"""Row 20, bandwidth saturation: the bytes of a step grow with the network; 16-bit gradients halve them.

`torchrun --nproc-per-node 2 bandwidth_saturation.py`
"""

from __future__ import annotations

import time

import torch
from torch import nn

from podium import parallel

STEPS, WARM_UP = 10, 3


def step_ms(group: parallel.Group, width: int, compression: torch.dtype | None) -> tuple[int, float]:
    """The number of parameters, and the mean time of a step."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, targets = torch.randn(16, 64), torch.randint(10, (16,))
    with parallel.Synchronous(group, model, optimizer, compression=compression) as trainer:
        began = 0.0
        while trainer.global_step < STEPS + WARM_UP:
            if trainer.global_step == WARM_UP:
                began = time.perf_counter()
            trainer.step(lambda: nn.functional.cross_entropy(trainer.model(inputs), targets))
        took_s = time.perf_counter() - began
    return sum(parameter.numel() for parameter in model.parameters()), 1000 * took_s / STEPS


def main() -> None:
    """Print the bytes of the gradients and the step time by size and precision."""
    with parallel.join() as group:
        for width in (64, 256, 1024):
            for name, compression, size in (("float32", None, 4), ("bfloat16", torch.bfloat16, 2)):
                values, took_ms = step_ms(group, width, compression)
                if group.rank == 0:
                    megabytes = values * size / 1e6
                    print(f"{values:>9,} parameters, {name}: {megabytes:.2f} MB a step, {took_ms:.1f} ms")


if __name__ == "__main__":
    main()
