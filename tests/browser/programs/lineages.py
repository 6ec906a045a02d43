"""Trials that continue others, and trials with several ranks; all end immediately."""

from typing import Any


def member(trial: Any) -> float:
    """Four steps of a member of a population, which adds its learning rate in each."""
    import torch

    network = torch.nn.Linear(2, 1)
    first, total = 1, 0.0
    if (checkpoint := trial.resume()) is not None:
        checkpoint.load_into(network)
        first, total = checkpoint.epoch + 1, checkpoint.extra
    for step in range(first, 5):
        total += trial.params["lr"]
        trial.report(total, step)
        trial.save_checkpoint(network, None, step, extra=total)
    return total


def ranks(trial: Any) -> float:
    """Each rank prints its number; rank 1 raises an exception if `x` is 2."""
    print(f"this is rank {trial.rank} of {trial.world_size}", flush=True)
    if trial.rank == 1 and trial.params["x"] == 2:
        raise ValueError("rank 1 fails as planned")
    return 0.5
