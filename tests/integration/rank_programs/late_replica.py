"""Trains with one spare, while the last replica computes its first gradient for three updates: FOLDER."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from torch import nn

from podium import parallel
from tests.integration.rank_programs.data_parallel import batch, flat, network, optimizer_of
from tests.integration.rank_programs.files import wait_for

STEPS = 3


def main() -> None:
    """Print the parameters after each update that this replica got."""
    torch.set_num_threads(1)
    done = Path(sys.argv[1]) / "three-updates"
    with parallel.join(join_timeout_s=120, timeout_s=90) as group:
        model = network()
        curve: dict[int, list[float]] = {}
        is_last = group.rank == group.size - 1

        def loss() -> torch.Tensor:
            found = nn.functional.cross_entropy(model(inputs), targets)
            if is_last:
                wait_for(done)
            return found

        with parallel.SynchronousWithSpares(group, model, optimizer_of(model), spares=1) as trainer:
            while trainer.global_step < STEPS:
                inputs, targets = batch(trainer.global_step, group.rank)
                trainer.step(loss)
                curve[trainer.global_step] = flat(model)
            if group.rank == 0:
                done.touch()
        final = flat(model)
    print(json.dumps({"curve": curve, "final": final, "dropped": trainer.dropped}))


if __name__ == "__main__":
    main()
