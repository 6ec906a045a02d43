"""Trains by a mode on fixed batches, and prints each step as JSON: MODE [OPTION=VALUE...] [normalized]."""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from torch import nn

from podium import parallel

STEPS = 4
ROWS = 6  # of each replica's batch


def network(*, normalized: bool = False) -> nn.Sequential:
    """The same network in every process."""
    torch.manual_seed(7)
    norm = [nn.BatchNorm1d(8)] if normalized else []
    return nn.Sequential(nn.Linear(5, 8), *norm, nn.Tanh(), nn.Linear(8, 3)).double()


def batch(step: int, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows of one replica."""
    drawn = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(ROWS, 5, generator=drawn, dtype=torch.float64), torch.randint(3, (ROWS,), generator=drawn)


def optimizer_of(model: nn.Module) -> torch.optim.Optimizer:
    """An optimizer with state."""
    return torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=0.01)


def flat(model: nn.Module) -> list[float]:
    """All parameters."""
    return [float(value) for parameter in model.parameters() for value in parameter.detach().reshape(-1)]


def trainer_of(mode: str, group: parallel.Group, model: nn.Module, options: dict[str, Any]) -> Any:
    """The trainer of a mode."""
    optimizer = optimizer_of(model)
    kinds: dict[str, Any] = {
        "sync": parallel.Synchronous, "spares": parallel.SynchronousWithSpares, "async": parallel.Asynchronous
    }  # fmt: skip
    if "compression" in options:
        options["compression"] = getattr(torch, options["compression"])
    return optimizer, kinds[mode](group, model, optimizer, **options)


def main() -> None:
    """Print `{"curve": ..., "loss": ..., "state": ..., "step": ...}`."""
    options = {name: json.loads(value) for name, value in (word.split("=") for word in sys.argv[2:] if "=" in word)}
    torch.set_num_threads(1)
    with parallel.join(join_timeout_s=120, timeout_s=60) as group:
        model = network(normalized="normalized" in sys.argv)
        if group.rank:  # rank 0 decides
            nn.init.zeros_(next(model.parameters()))
        optimizer, trainer = trainer_of(sys.argv[1], group, model, options)
        curve = []
        with trainer:
            for step in range(STEPS):
                inputs, targets = batch(step, group.rank)
                loss = trainer.step(lambda x=inputs, y=targets: nn.functional.cross_entropy(trainer.model(x), y))
                curve.append(flat(model))
            own_buffers = [each.tolist() for each in model.buffers()]
        state = [float(each["exp_avg"].sum()) for each in optimizer.state_dict()["state"].values()]
        mean = group.mean(loss)
        final = flat(model)
        buffers = [each.tolist() for each in model.buffers()]
    print(
        json.dumps(
            {
                "buffers": buffers,
                "curve": curve,
                "final": final,
                "loss": mean,
                "own buffers": own_buffers,
                "state": state,
                "step": trainer.global_step,
            }
        )
    )


if __name__ == "__main__":
    main()
