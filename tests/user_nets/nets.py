"""Five kinds of user networks, each over rows of sixteen small integers, and a function that trains them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

SHAPES = {"batch_norm": (16,), "dropout": (16,), "convolution": (1, 4, 4), "lstm": (4, 4), "embedding": (16,)}


class Convolution(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, width, kernel_size=3, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.last = nn.Linear(width, 3)

    def forward(self, images: torch.Tensor) -> Any:
        return self.last(torch.relu(self.norm(self.first(images))).mean(dim=(2, 3)))


class Recurrent(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.cells = nn.LSTM(4, width, num_layers=2, batch_first=True)
        self.last = nn.Linear(width, 3)

    def forward(self, steps: torch.Tensor) -> Any:
        return self.last(self.cells(steps)[0][:, -1])


class Words(nn.Module):
    """The embedding shares its weights with the last layer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(10, width)
        self.back = nn.Linear(width, 10, bias=False)
        self.back.weight = self.words.weight
        self.last = nn.Linear(10, 3)

    def forward(self, words: torch.Tensor) -> Any:
        return self.last(self.back(self.words(words).mean(dim=1)))


def build(params: dict[str, Any]) -> nn.Module:
    width = params["width"]
    if params["kind"] == "batch_norm":
        return nn.Sequential(nn.Linear(16, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 3))
    if params["kind"] == "dropout":
        return nn.Sequential(nn.Linear(16, width), nn.Dropout(0.5), nn.Tanh(), nn.Linear(width, 3))
    kinds: dict[str, type[nn.Module]] = {"convolution": Convolution, "lstm": Recurrent, "embedding": Words}
    return kinds[params["kind"]](width)


def rows_and_targets(kind: str, rows: int = 64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randint(0, 10, (rows, 16), generator=generator)
    targets = numbers[:, :8].sum(dim=1) % 3
    inputs = numbers if kind == "embedding" else numbers.float()
    return inputs.reshape(rows, *SHAPES[kind]), targets


def objective(trial: Any) -> float:
    kind = trial.params["kind"]
    inputs, targets = rows_and_targets(kind)
    model = build(trial.params).to(trial.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs.to(trial.device)), targets.to(trial.device))
        torch.autograd.backward(loss)
        optimizer.step()
    trial.save_model(model, example=inputs[:8])
    model.eval()
    with torch.no_grad():
        said = model(inputs.to(trial.device)).softmax(dim=1)
    known = {"validation": targets[:32], "calibration": targets[32:]}
    trial.save_predictions({"validation": said[:32], "calibration": said[32:]}, targets=known)
    return float((said.argmax(dim=1).cpu() == targets).float().mean())
