"""Trains by a mode until rank 1 ends in its third step: MODE, and `killed` or `raises`."""

from __future__ import annotations

import os
import signal
import sys

import torch
from torch import nn

from podium import parallel
from tests.integration.rank_programs.data_parallel import batch, network, trainer_of


def main() -> None:
    """Never succeeds."""
    torch.set_num_threads(1)
    options = {"spares": 0} if sys.argv[1] == "spares" else {}
    with parallel.join(join_timeout_s=120, timeout_s=60) as group:
        model = network()
        _, trainer = trainer_of(sys.argv[1], group, model, options)
        with trainer:
            for step in range(1_000_000):
                if step == 2 and group.rank == 1:
                    if sys.argv[2] == "killed":
                        os.kill(os.getpid(), signal.SIGKILL)
                    raise ZeroDivisionError("a bug of rank 1")
                inputs, targets = batch(step, group.rank)
                trainer.step(lambda x=inputs, y=targets: nn.functional.cross_entropy(trainer.model(x), y))


if __name__ == "__main__":
    main()
