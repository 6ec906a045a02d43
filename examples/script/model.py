"""A network of one hidden layer."""

from torch import nn


def build(hidden):
    return nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 10))
