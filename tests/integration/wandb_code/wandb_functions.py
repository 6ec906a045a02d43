"""Functions that log to W&B, as `wandb.agent` and others call them; each is the program of one trial."""

from __future__ import annotations

import threading
from typing import Any

import wandb


def train() -> None:
    """As in W&B's documentation of sweeps: no argument, and nothing returned."""
    with wandb.init(config={"x": 99.0, "epochs": 3}) as run:
        for epoch in range(run.config["epochs"]):
            wandb.log({"score": run.config["x"] + epoch, "loss": 0.5})


def train_with_config(config: Any = None) -> float:
    with wandb.init(config=config) as run:
        run.log({"score": 5.0})
        return float(run.config["x"])


def objective(trial: Any) -> float:
    """It reports by itself, so W&B's values are not reports."""
    run = wandb.init(config=trial.params)
    for epoch in range(3):
        trial.report(0.5, epoch)
        run.log({"score": 7.0, "loss": 0.1}, step=100 + epoch)
    return 0.5


def diverges(config: Any) -> float:
    run = wandb.init()
    run.log({"score": float("inf")})
    return 1.0


def logs_from_a_thread() -> None:
    run = wandb.init()
    thread = threading.Thread(target=run.log, args=[{"score": 2.0}])
    thread.start()
    thread.join()


def logs_for_ever() -> None:
    run = wandb.init()
    while True:
        run.log({"score": 1.0})
