"""Two replicas, whose second update fails; rank 1 leaves before it: FOLDER."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

from podium import parallel
from tests.integration.rank_programs.data_parallel import batch, network
from tests.integration.rank_programs.files import wait_for

SENDING_S = 1.0  # until the gradient of rank 0 has arrived


class Failing(torch.optim.SGD):
    """Raises in the second update with gradients."""

    updates = 0

    def step(self, closure: Any = None) -> Any:
        """Each replica also calls it without gradients, which does not count."""
        if self.param_groups[0]["params"][0].grad is not None:
            self.updates += 1
            if self.updates == 2:
                raise ZeroDivisionError("a bug of the optimizer")
        return super().step(closure)


def main() -> None:
    """Never succeeds."""
    torch.set_num_threads(1)
    computes = Path(sys.argv[1]) / "computes"
    with parallel.join(join_timeout_s=120, timeout_s=120) as group:
        model = network()
        with parallel.SynchronousWithSpares(group, model, Failing(model.parameters(), lr=0.1), spares=0) as trainer:
            for step in range(2 - group.rank):
                inputs, targets = batch(step, group.rank)
                if step == 1:
                    computes.touch()
                trainer.step(lambda x=inputs, y=targets: nn.functional.cross_entropy(model(x), y))  # type: ignore[misc]
            if group.rank == 1:
                wait_for(computes)
                time.sleep(SENDING_S)


if __name__ == "__main__":
    main()
