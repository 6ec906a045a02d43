"""Handwritten digits with networks of several sizes: the accuracy on held-out rows, and the number of parameters."""

from itertools import pairwise

import torch
from sklearn.datasets import load_digits
from torch import nn

EPOCHS = 8


def build(params):
    sizes = [64, *[params["width"]] * params["layers"]]
    hidden = [nn.Sequential(nn.Linear(a, b), nn.ReLU()) for a, b in pairwise(sizes)]
    return nn.Sequential(*hidden, nn.Linear(sizes[-1], 10))


def objective(trial):
    x, y = (torch.as_tensor(part) for part in load_digits(return_X_y=True))
    x = x.float() / 16
    train, held_out = torch.randperm(len(x), generator=torch.Generator().manual_seed(0)).split([1200, len(x) - 1200])
    model = build(trial.params)
    optimizer = torch.optim.Adam(model.parameters(), lr=trial.params["lr"])
    accuracy = 0.0
    for epoch in range(EPOCHS):
        for rows in train[torch.randperm(len(train))].split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
        with torch.no_grad():
            accuracy = (model(x[held_out]).argmax(dim=1) == y[held_out]).float().mean().item()
        trial.report(accuracy, step=epoch)  # the metric of early_terminate
        if trial.should_prune():
            raise trial.Pruned
    return accuracy, sum(parameter.numel() for parameter in model.parameters())
