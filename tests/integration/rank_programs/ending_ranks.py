"""Trains by a mode until rank 1 ends in its third step: MODE, and how it ends, [FOLDER].

`raises`, `raises and continues` after the block, `killed`, `killed while rank 2 computes` for longer than a failed
server waits for it, and `killed while the others close`.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from pathlib import Path

import torch
from torch import nn

from podium import parallel
from tests.integration.rank_programs.data_parallel import batch, network, trainer_of
from tests.integration.rank_programs.files import wait_for

COMPUTING_S = 8.0  # longer than a failed server waits
CLOSING_S = 1.0
CONTINUING_S = 60.0


def end(how: str, folder: Path) -> None:
    """What rank 1 does."""
    if how.startswith("raises"):
        raise ZeroDivisionError("a bug of rank 1")
    if how == "killed while rank 2 computes":
        wait_for(folder / "computes")
    elif how == "killed while the others close":
        wait_for(folder / "closes")
        time.sleep(CLOSING_S)
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Never succeeds, unless rank 1 continues."""
    try:
        train()
    except ZeroDivisionError:
        if sys.argv[2] != "raises and continues":
            raise
    gc.collect()  # the network, which the frames of the error had
    time.sleep(CONTINUING_S)


def train() -> None:
    """Train until rank 1 ends."""
    torch.set_num_threads(1)
    how, folder = sys.argv[2], Path(sys.argv[-1])
    steps = 2 if how == "killed while the others close" else 1_000_000
    options = {"spares": 0} if sys.argv[1] == "spares" else {}
    with parallel.join(join_timeout_s=120, timeout_s=60) as group:
        model = network()
        _, trainer = trainer_of(sys.argv[1], group, model, options)
        with trainer:
            for step in range(steps + (group.rank == 1)):
                if step == 2 and group.rank == 1:
                    end(how, folder)
                if step == 2 and group.rank == 2 and how == "killed while rank 2 computes":
                    (folder / "computes").touch()
                    time.sleep(COMPUTING_S)
                inputs, targets = batch(step, group.rank)
                trainer.step(lambda x=inputs, y=targets: nn.functional.cross_entropy(trainer.model(x), y))
            if group.rank == 2:
                (folder / "closes").touch()


if __name__ == "__main__":
    main()
