"""A training loop that continues from a checkpoint, as population-based training needs it."""

import torch
from sklearn.datasets import load_digits
from torch import nn

EPOCHS = 22  # the last interval is shorter


def build(params):
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


def objective(trial):
    digits = load_digits()
    inputs = torch.tensor(digits.data / 16, dtype=torch.float32)
    targets = torch.tensor(digits.target)
    model = build(trial.params)
    optimizer = torch.optim.SGD(model.parameters(), **trial.params)
    first = 0
    if (checkpoint := trial.resume()) is not None:
        checkpoint.load_into(model, optimizer)  # keeps the learning rate of this interval
        first = checkpoint.epoch + 1
    for epoch in range(first, EPOCHS):
        for rows in torch.randperm(1200).split(60):
            loss = nn.functional.cross_entropy(model(inputs[rows]), targets[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            loss = nn.functional.cross_entropy(model(inputs[1200:]), targets[1200:])
        trial.report(min(float(loss), 100.0), step=epoch)
        if trial.ends_interval(epoch):
            trial.save_checkpoint(model, optimizer, epoch)  # the attempt ends here; the next one continues
