"""Two interleaved spirals, classified by a small network; uses only the `trial` argument of Podium."""

import torch
from torch import nn


def spirals(rows: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    label = torch.arange(rows) % 2
    radius = torch.rand(rows, generator=generator)
    angle = 5 * radius + torch.pi * label
    points = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
    return points + 0.02 * torch.randn(rows, 2, generator=generator), label


def objective(trial):
    width = trial.suggest_categorical("width", [8, 16, 32])
    lr = trial.suggest_float("lr", 1e-3, 1.0, log=True)
    generator = torch.Generator().manual_seed(0)
    inputs, labels = (part.to(trial.device) for part in spirals(1000, generator))
    test_inputs, test_labels = (part.to(trial.device) for part in spirals(500, generator))
    model = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2))
    model.to(trial.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    accuracy = 0.0
    for epoch in range(10):
        for rows in torch.randperm(len(inputs)).split(100):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs[rows]), labels[rows]).backward()
            optimizer.step()
        with torch.no_grad():
            accuracy = (model(test_inputs).argmax(dim=1) == test_labels).float().mean().item()
        print(f"epoch {epoch}: {accuracy:.3f}")
        trial.report(accuracy, step=epoch)
        if trial.should_prune():
            raise trial.Pruned
    trial.save_model(model)
    return accuracy
