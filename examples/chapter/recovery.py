"""Row 21, supervised sessions: a trial that is killed continues from its checkpoint, and its curve is complete.

Run it while a service runs: `podium serve`, then `python recovery.py`.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import torch
from torch import nn

from podium import Client

EPOCHS, KILLED_AFTER = 6, 3


def objective(trial: Any) -> None:
    """Fit a line; the last report is the result. The first attempt kills itself, as a machine that fails would."""
    torch.manual_seed(0)
    inputs = torch.linspace(-1, 1, 64)[:, None]
    targets = 3 * inputs + 1
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    checkpoint, start = trial.resume(), 0
    if checkpoint is not None:
        checkpoint.load_into(model, optimizer)
        start = checkpoint.epoch + 1
    for epoch in range(start, EPOCHS):
        for _ in range(10):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            torch.autograd.backward(loss)
            optimizer.step()
        trial.report(float(loss), step=epoch)
        trial.save_checkpoint(model, optimizer, epoch)
        if checkpoint is None and epoch + 1 == KILLED_AFTER:
            os.kill(os.getpid(), signal.SIGKILL)
    trial.set_user_attr("started_at_epoch", start)


def main() -> None:
    """Run one trial, and print its attempts and its summaries."""
    client = Client.of()
    document = {
        "name": "recovery",
        "method": "grid",
        "metric": {"name": "loss", "goal": "minimize"},
        "parameters": {"again": {"values": [0]}},
        "retries": {"user": 1, "infrastructure": 1},
        "program": {"function": "recovery:objective", "code": str(Path(__file__).parent)},
    }
    sweep = client.wait(client.submit(document)["id"])
    (trial,) = client.trials(sweep["id"])
    for attempt in client.trial(trial["id"])["attempts"]:
        print(f"attempt {attempt['number']}: {attempt['state']} {attempt['cause'] or ''}".rstrip())
    steps = [int(step) for step, _ in client.metrics(trial["id"])["loss"]]
    print(f"continued at epoch {trial['user_attrs']['started_at_epoch']}; losses of epochs {steps}")


if __name__ == "__main__":
    main()
