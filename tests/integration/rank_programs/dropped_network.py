"""Drops a network directly after its block, and prints how many threads that ended: those of its process group."""

from __future__ import annotations

import gc

import psutil
import torch.distributed.nn.functional  # noqa: F401 - keeps the group that exists when it is imported first

from podium import parallel
from tests.integration.rank_programs.data_parallel import network, optimizer_of


def main() -> None:
    """Print the number."""
    gc.freeze()  # so that a collection is fast: the group is kept for a second
    with parallel.join() as group:
        model = network()
        trainer = parallel.Synchronous(group, model, optimizer_of(model))
    threads = psutil.Process().num_threads()
    del trainer, model
    gc.collect()
    print(threads - psutil.Process().num_threads())


if __name__ == "__main__":
    main()
