"""Trains by a pipeline, and prints what each rank has as JSON: SCHEDULE, and `predict` to predict first."""

from __future__ import annotations

import json
import sys

import torch
from torch import nn

from podium import parallel

STEPS = 3
BATCH_SIZE = 8


def network() -> nn.Sequential:
    """The same network in every process."""
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3))


def batch(step: int, rows: int = BATCH_SIZE) -> tuple[torch.Tensor, torch.Tensor]:
    """The batch of a step."""
    drawn = torch.Generator().manual_seed(step)
    return torch.randn(rows, 5, generator=drawn), torch.randint(3, (rows,), generator=drawn)


def main() -> None:
    """Print what every rank has at the end."""
    torch.set_num_threads(1)
    with parallel.join(join_timeout_s=120, timeout_s=60) as group:
        pipeline = parallel.Pipeline(
            group,
            network(),
            nn.functional.cross_entropy,
            lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
            batch_size=BATCH_SIZE,
            microbatches=4,
            schedule="gpipe" if sys.argv[1] == "gpipe" else "1f1b",
        )
        rows, _ = batch(99, rows=11)
        if "predict" in sys.argv:
            pipeline.predict(rows)
        losses = [pipeline.step(*batch(step)) for step in range(STEPS)]
        outputs = pipeline.predict(rows).tolist()
        weights = {name: value.tolist() for name, value in pipeline.state_dict().items()}
        layers = len(pipeline.stage)
    print(json.dumps({"losses": losses, "outputs": outputs, "weights": weights, "layers": layers}))


if __name__ == "__main__":
    main()
