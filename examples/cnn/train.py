"""A convolutional network with its own training loop; `build` lets its best networks join an ensemble."""

import torch
from torch import nn


def build(params):
    """The untrained network. Its input is raw rows of the data, so it scales them itself."""
    channels = params["channels"]
    return nn.Sequential(
        Scale(16.0),
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, channels, kernel_size=3, padding=1),
        nn.BatchNorm2d(channels),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(channels, 2 * channels, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Dropout(params["dropout"]),
        nn.Linear(8 * channels, 10),
    )


class Scale(nn.Module):
    def __init__(self, largest):
        super().__init__()
        self.largest = largest

    def forward(self, pixels):
        return pixels / self.largest


def tensors(trial, split):
    inputs, targets = trial.data.split(split)  # the same rows in every trial, and in every evaluation
    return torch.from_numpy(inputs).float().to(trial.device), torch.from_numpy(targets).to(trial.device)


def outputs_of(model, inputs):
    model.eval()
    with torch.no_grad():
        return model(inputs)


def objective(trial):
    inputs, labels = tensors(trial, "train")
    validation, truth = tensors(trial, "validation")
    calibration, _ = tensors(trial, "calibration")
    model = build(trial.params).to(trial.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=trial.params["lr"])
    for epoch in range(4):
        model.train()
        for rows in torch.randperm(len(inputs)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs[rows]), labels[rows]).backward()
            optimizer.step()
        accuracy = (outputs_of(model, validation).argmax(dim=1) == truth).float().mean().item()
        trial.report(accuracy, step=epoch)
        if trial.should_prune():
            raise trial.Pruned

    trial.save_model(model, example=inputs[:4])  # so that it can join an ensemble, which is checked here
    trial.save_predictions(  # for selecting and weighting members by their predictions
        {"validation": outputs_of(model, validation), "calibration": outputs_of(model, calibration)}, outputs="logits"
    )
    return accuracy
