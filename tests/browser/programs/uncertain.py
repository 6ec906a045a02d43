"""A deliberately slow network on digits, so that it can be followed; some trials fail."""

import time
from typing import Any

import torch
from torch import nn


def objective(trial: Any) -> float:
    inputs, labels = tensors(trial, "train")
    validation, truth = tensors(trial, "validation")
    if trial.params["width"] > 220:
        raise ValueError(f"width {trial.params['width']} leaves no room for the batch")
    model = nn.Sequential(
        nn.Linear(64, trial.params["width"]), nn.ReLU(), nn.Dropout(trial.params["dropout"]),
        nn.Linear(trial.params["width"], 10),
    ).to(trial.device)  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=trial.params["lr"])
    accuracy = 0.0
    for epoch in range(30):
        model.train()
        total = 0.0
        for rows in torch.chunk(torch.randperm(len(inputs)), 15):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs[rows]), labels[rows])
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += loss.item() * len(rows)
        model.eval()
        with torch.no_grad():
            accuracy = (model(validation).argmax(dim=1) == truth).float().mean().item()
        print(f"epoch {epoch + 1}/30  loss {total / len(inputs):.4f}  accuracy {accuracy:.4f}", flush=True)
        trial.report(accuracy, step=epoch)
        trial.log({"loss": total / len(inputs)}, step=epoch)
        if trial.should_prune():
            raise trial.Pruned
        time.sleep(0.25)
    return accuracy


def tensors(trial: Any, split: str) -> Any:
    inputs, targets = trial.data.split(split)
    return torch.from_numpy(inputs).float().div(16).to(trial.device), torch.from_numpy(targets).to(trial.device)
