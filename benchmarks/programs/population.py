"""The network of row 21, trained step by step by both sides: a small MLP on the digits of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

POPULATION = 16
STEPS = 20  # passes of an interval
QUANTILE, RESAMPLE, PERTURB = 0.25, 0.25, (0.8, 1.2)
ROWS = 1_200  # for training


class Network:
    """A network with its optimizer, on the digits; a bad learning rate is noticed only after many passes."""

    def __init__(self, config: dict[str, Any], seed: int) -> None:
        torch.manual_seed(seed)
        loaded = np.load(config["data"])
        inputs, targets = torch.from_numpy(loaded["x"]), torch.from_numpy(loaded["y"])
        self.train_rows = inputs[:ROWS], targets[:ROWS]
        self.validation_rows = inputs[ROWS:], targets[ROWS:]
        self.model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), lr=config["lr"], momentum=config["momentum"], weight_decay=config["weight_decay"]
        )

    def train_pass(self) -> None:
        """One pass over the training rows."""
        inputs, targets = self.train_rows
        for rows in torch.split(torch.randperm(len(targets)), 100):
            self.optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(self.model(inputs[rows]), targets[rows])
            torch.autograd.backward(loss)
            self.optimizer.step()

    def loss(self) -> float:
        """The validation loss; at most 100, as it may diverge."""
        inputs, targets = self.validation_rows
        with torch.inference_mode():
            found = float(torch.nn.functional.cross_entropy(self.model(inputs), targets))
        return min(found, 100.0) if found == found else 100.0


def objective(trial: Any) -> None:
    """A trial of Podium: never ends by itself."""
    network = Network(trial.params, trial.seed)
    step = 0
    if (checkpoint := trial.resume()) is not None:
        checkpoint.load_into(network.model, network.optimizer)
        step = checkpoint.epoch
    while True:
        step += 1
        network.train_pass()
        if trial.ends_interval(step):
            trial.report(network.loss(), step)
            trial.save_checkpoint(network.model, network.optimizer, step)
