"""Row 22, the distributed MNIST recipe: replicas with a step counter and summaries, as trials of a sweep.

A trial of one device is one replica, a trial of all devices one replica on each. It learns Fashion-MNIST if Debian's
package `dataset-fashion-mnist` is installed, otherwise the digits.
Run it while a service with two devices runs: `podium serve --devices cpu:2`, then `python distributed_mnist.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from podium import Client, parallel

FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")
STEPS, SUMMARY_STEPS, BATCH_SIZE = 150, 50, 64


def objective(trial: Any) -> float:
    """Train for a number of global steps; every 50 steps, log the loss."""
    inputs, targets = map(torch.as_tensor, trial.data.split("validation"))
    width = int(inputs[0].numel())
    with parallel.join() as group:
        model = nn.Sequential(nn.BatchNorm1d(width), nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 10))
        optimizer = torch.optim.SGD(model.parameters(), lr=trial.params["lr"], momentum=0.9)
        with parallel.SynchronousWithSpares(group, model, optimizer, spares=0) as trainer:
            torch.manual_seed(trial.seed + group.rank)  # each replica has an order of the rows of its own
            while trainer.global_step < STEPS:
                for x, y in trial.batches("train", BATCH_SIZE, shuffle=True):
                    x = x.reshape(len(x), width).float()
                    loss = trainer.step(lambda x=x, y=y: nn.functional.cross_entropy(trainer.model(x), y))
                    if trainer.global_step % SUMMARY_STEPS == 0:
                        trial.log({"loss": float(loss)}, trainer.global_step)
                    if trainer.global_step >= STEPS:
                        break
    model.eval()
    with torch.no_grad():
        correct = model(inputs.reshape(len(inputs), width).float()).argmax(1) == targets
    return float(correct.float().mean())


def main() -> None:
    """Run a sweep with one device per trial and one with all, and print the summaries of each best trial."""
    client = Client.of()
    installed = FASHION_MNIST.is_dir()
    data = {"name": "fashion-mnist", "root": str(FASHION_MNIST)} if installed else {"name": "digits"}
    for devices in (1, len(client.devices())):
        document = {
            "name": f"mnist-on-{devices}",
            "method": "grid",
            "metric": {"name": "accuracy", "goal": "maximize"},
            "parameters": {"lr": {"values": [0.01, 0.05]}},
            "resources": {"devices": devices},
            "program": {"function": "distributed_mnist:objective", "code": str(Path(__file__).parent), "data": data},
        }
        best = client.wait(client.submit(document)["id"])["best"]
        assert best is not None
        summaries = [f"{step:.0f}: {loss:.3f}" for step, loss in client.metrics(best["trial_id"])["loss"]]
        print(f"{devices} replicas, loss by global step: {', '.join(summaries)}")
        print(f"{data['name']}: accuracy {best['value']:.3f} with lr {best['params']['lr']}")


if __name__ == "__main__":
    main()
