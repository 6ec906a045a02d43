"""An objective as Optuna users write it: it defines its parameters and is independent of Podium.

python objective.py runs it with Optuna alone.
"""

import optuna
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

EPOCHS = 8


def build(trial):
    layers, width = [], 64
    for layer in range(trial.suggest_int("layers", 1, 3)):
        units = trial.suggest_int(f"units_{layer}", 16, 128, log=True)
        layers += [nn.Linear(width, units), nn.ReLU(), nn.Dropout(trial.suggest_float(f"dropout_{layer}", 0.0, 0.4))]
        width = units
    return nn.Sequential(*layers, nn.Linear(width, 10))


def objective(trial):
    pixels, labels = load_digits(return_X_y=True)
    split = train_test_split(pixels / 16, labels, test_size=0.3, random_state=0)
    train_x, test_x = (torch.tensor(part, dtype=torch.float32) for part in split[:2])
    train_y, test_y = (torch.tensor(part) for part in split[2:])
    model = build(trial)
    lr = trial.suggest_float("lr", 1e-4, 1e-1, log=True)
    optimizer = getattr(torch.optim, trial.suggest_categorical("optimizer", ["Adam", "SGD"]))(model.parameters(), lr=lr)
    for epoch in range(EPOCHS):
        model.train()
        for rows in torch.randperm(len(train_x)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(train_x[rows]), train_y[rows]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            accuracy = (model(test_x).argmax(dim=1) == test_y).float().mean().item()
        trial.report(accuracy, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return accuracy


if __name__ == "__main__":
    study = optuna.create_study(direction="maximize", pruner=optuna.pruners.MedianPruner())
    study.optimize(objective, n_trials=12)
    print(study.best_params)
