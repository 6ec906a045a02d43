"""Functions of trials with several devices."""

import os
import signal
import time
from functools import partial
from typing import Any

import torch
import torch.distributed as dist

from podium import parallel


def together(trial: Any) -> Any:
    """All ranks train one network, and rank 0 reports."""
    with parallel.join() as group:
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with parallel.Synchronous(group, model, optimizer) as trainer:
            for step in range(4):
                inputs = torch.full((2, 3), float(group.rank + 1))
                loss = trainer.step(partial(_loss, trainer.model, inputs))
                trial.report(float(loss) + 100 * group.rank, step)
        total = group.mean(float(trial.rank))
    assert (group.rank, group.size) == (trial.rank, trial.world_size)
    print(f"rank {trial.rank} of {trial.world_size}")
    return total


def _loss(model: torch.nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    loss: torch.Tensor = model(inputs).square().mean()
    return loss


def one_process(trial: Any) -> Any:
    """One process for all devices."""
    assert "RANK" not in os.environ and trial.world_size == 1
    print("threads", torch.get_num_threads())
    return 0.5


def saves_after_the_others(trial: Any) -> Any:
    """Rank 0 is still writing a file when the slot of rank 1 has removed what rank 1 left."""
    root = trial.directory.root
    if trial.rank == 1:
        (root / "rank-1-has-started").touch()
        return None
    temporary = root / ".model.safetensors.5.tmp"
    temporary.write_text("half")
    deadline = time.monotonic() + 60
    while (root / "work-1").exists() or not (root / "rank-1-has-started").exists():
        assert time.monotonic() < deadline, "the slot of rank 1 has not removed its folder"
        time.sleep(0.01)
    time.sleep(0.5)  # the folder is the first that is removed
    return float(temporary.exists())


def killed(trial: Any) -> Any:
    """Rank 1 is killed in the middle; rank 0 loses its connection."""
    with parallel.join() as group:
        for _ in range(1000):
            group.mean(1.0)
            time.sleep(0.01)
            if group.rank == 1 and _ == 20:
                os.kill(os.getpid(), signal.SIGKILL)


def fails(trial: Any) -> Any:
    """Rank 1 raises; rank 0 waits for it."""
    dist.init_process_group("gloo")
    if trial.rank == 1:
        raise ZeroDivisionError("as planned")
    dist.barrier()


def never_joins(trial: Any) -> Any:
    """Rank 1 does something else."""
    if trial.rank == 1:
        time.sleep(600)
    dist.init_process_group("gloo")


def hangs(trial: Any) -> Any:
    """Rank 1 never enters the collective in which rank 0 waits."""
    dist.init_process_group("gloo")
    if trial.rank == 1:
        time.sleep(600)
    dist.barrier()


def saves_in_rank_1(trial: Any) -> Any:
    """Only rank 0 may save."""
    if trial.rank == 1:
        trial.save_checkpoint(torch.nn.Linear(1, 1))
    time.sleep(600)


def checkpoint(trial: Any) -> Any:
    """All ranks write a checkpoint; the first attempt is lost after rank 0 has kept it."""
    with parallel.join() as group:
        found = trial.resume_folder()
        if found is not None:
            names = sorted(path.name for path in found.path.iterdir())
            assert names == ["0.pt", "1.pt"], names
            return float(torch.load(found.path / f"{group.rank}.pt")) + found.iteration
        folder = trial.shared_dir / "checkpoint"
        folder.mkdir(exist_ok=True)
        torch.save(torch.tensor(float(group.rank)), folder / f"{group.rank}.pt")
        group.barrier()
        if trial.rank == 0:
            trial.save_checkpoint_folder(folder, 7)
        group.barrier()
        os.kill(os.getpid(), signal.SIGKILL)
    return None


def waits(trial: Any) -> Any:
    """Runs until it is stopped."""
    with parallel.join() as group:
        print("joined as", os.getpid(), flush=True)
        while True:
            group.mean(1.0)
            time.sleep(0.05)
